"""The contract that lists all that a package may import."""

from __future__ import annotations

import pytest
from grimp import ImportGraph

from scripts.import_contracts import OnlyContract


def imports(*pairs: tuple[str, str]) -> ImportGraph:
    graph = ImportGraph()
    for importer, imported in pairs:
        graph.add_import(importer=importer, imported=imported)
    return graph


CONTRACT = OnlyContract(
    name="example",
    session_options={"root_packages": ["house"]},
    contract_options={"importer": "house.codec", "allowed_modules": ["house.types", "struct"]},
)


@pytest.mark.parametrize(
    ("importer", "imported", "is_kept"),
    [
        pytest.param("house.codec", "house.types", True, id="allowed"),
        pytest.param("house.codec.decoder", "struct", True, id="allowed to a module inside"),
        pytest.param("house.codec.decoder", "house.codec.schema", True, id="the package itself"),
        pytest.param("house.wire", "socket", True, id="another package's import"),
        pytest.param("house.codec.decoder", "socket", False, id="not allowed"),
        pytest.param("house.codec", "house.typeset", False, id="a name that begins alike"),
    ],
)
def test_package_keeps_the_contract_when_all_its_imports_are_allowed(
    importer: str, imported: str, is_kept: bool
) -> None:
    graph = imports(("house.codec", "house.types"), ("house.codec.decoder", "struct"), (importer, imported))

    check = CONTRACT.check(graph, verbose=False)

    assert check.kept is is_kept
    assert check.metadata["forbidden"] == ([] if is_kept else [(importer, imported)])
