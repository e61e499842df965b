"""A contract type for import-linter that lists everything a package may import; import-linter has none.

type = "only"
importer = "raft.codec"
allowed_modules = ["raft.types", "struct"]
"""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class OnlyContract(Contract):
    """A package imports only itself and the allowed modules.

    Fields:
        importer: the package.
        allowed_modules: modules, with their submodules. Of packages outside the project only the first name counts.
    """

    type_name = "only"

    importer = fields.ModuleField()
    allowed_modules = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Check every direct import of the modules of the package.

        Args:
            graph: of all imports.
            verbose: not used, because the check is fast.
        """
        del verbose
        importer: str = self.importer.name  # type: ignore[attr-defined]  # a field gives its value
        allowed: set[str] = {importer, *self.allowed_modules}  # type: ignore[misc]  # likewise
        imports = {
            (module, imported)
            for module in {importer} | graph.find_descendants(importer)
            for imported in graph.find_modules_directly_imported_by(module)
        }
        forbidden = sorted(each for each in imports if not _is_within(each[1], allowed))
        return ContractCheck(kept=not forbidden, metadata={"forbidden": forbidden})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the imports that are not allowed.

        Args:
            check: what `check` returned.
        """
        for module, imported in check.metadata["forbidden"]:
            output.print_error(f"{module} is not allowed to import {imported}", bold=False)


def _is_within(module: str, packages: set[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)
