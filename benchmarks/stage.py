"""The servers and Spark applications of the works, each started when a work first needs it."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from benchmarks.checkout import Checkout
from benchmarks.contest import OURS
from benchmarks.generator import Generator
from benchmarks.program import Program
from benchmarks.servers.broker import Broker
from benchmarks.servers.etcd import Etcd
from benchmarks.servers.jars import fetched_jars
from benchmarks.servers.missing import MissingPeerError
from benchmarks.servers.quorum import Quorum
from benchmarks.servers.tls_quorum import TlsQuorum
from benchmarks.sizes import Sizes
from tests.java.kafka import Kafka

Found = TypeVar("Found")


class Service(Enum):
    """What runs from one work to the next, if that one needs it too."""

    BROKER = "Kafka's broker"
    ETCD = "etcd"
    SPARK = "Spark"


class Stage:
    """Starts servers and programs; the end of the block stops all of them and removes their files.

    All data is in one folder, so that all flush to the same disk.

    Args:
        folder: created here; must not exist yet.
        checkouts: the measured code, by contestant.
        sizes: how much is measured.
    """

    def __init__(self, folder: Path, checkouts: Mapping[str, Checkout], sizes: Sizes) -> None:
        self.checkouts = checkouts
        self.sizes = sizes
        self.missing: list[str] = []
        self._folder = folder
        self._numbers = itertools.count()
        self._services: dict[Service, tuple[ExitStack, dict[str, Any]]] = {}
        self._work = ExitStack()

    def __enter__(self) -> Self:
        (self._folder / "packages").mkdir(parents=True)
        # The Python of another checkout finds these benchmarks here, and everything else in that checkout.
        (self._folder / "packages" / "benchmarks").symlink_to(Path(__file__).parent)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with ExitStack() as stack:
                for ending, _ in self._services.values():
                    stack.push(ending)
                stack.push(self._work)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    @contextmanager
    def work(self, services: Collection[Service]) -> Iterator[None]:
        """Enclose a work: services that it does not need are stopped before it, and its own servers after it."""
        for service in [service for service in self._services if service not in services]:
            self._services.pop(service)[0].close()
        self.missing = []
        try:
            yield
        finally:
            self._work.close()

    def new_folder(self, name: str) -> Path:
        """Return a path that nothing else uses; it is not created."""
        return self._folder / f"{next(self._numbers)}-{name}"

    def find(self, look: Callable[[], Found]) -> Found | None:
        """Return what a function finds, or None if a peer is missing; the reason is added to `missing`."""
        try:
            return look()
        except MissingPeerError as error:
            if str(error) not in self.missing:
                self.missing.append(str(error))
            return None

    def broker(self) -> Broker:
        """Return Kafka's broker, which runs from one work to the next.

        Raises:
            MissingPeerError: Kafka cannot be installed.
        """
        return self._service(Service.BROKER, "", lambda: Broker(self.kafka(), self.new_folder("broker")).start())

    def etcd(self) -> Etcd:
        """Return etcd, which runs from one work to the next.

        Raises:
            MissingPeerError: it is not installed.
        """
        return self._service(Service.ETCD, "", lambda: Etcd(self.new_folder("etcd")).recover())

    def spark(self, contestant: str) -> Program:
        """Return a Spark application with the connector of a checkout; ours has Kafka's connector too."""
        return self._service(Service.SPARK, contestant, lambda: self._spark(contestant))

    def kafka(self) -> Kafka:
        """Return Kafka's programs.

        Raises:
            MissingPeerError: they cannot be installed.
        """
        return Kafka(fetched_jars("programs"))

    def generator(self) -> Generator:
        """Return the load generator.

        Raises:
            MissingPeerError: it cannot be built.
        """
        return Generator.build(self._folder)

    def quorum(self, contestant: str) -> Quorum:
        """Start a new quorum of a checkout for the present work."""
        quorum = Quorum(self.checkouts[contestant], self.new_folder(f"quorum-{contestant}"))
        return self._work.enter_context(quorum).recover()

    def tls_quorum(self) -> TlsQuorum:
        """Start a new quorum of this checkout with TLS for the present work."""
        return self._work.enter_context(TlsQuorum(self.checkouts[OURS], self.new_folder("tls"))).recover()

    def program(self, contestant: str, module: str, *arguments: str) -> Program:
        """Start a program of `benchmarks.side` with the code of a checkout for the present work."""
        return self._work.enter_context(self._program(contestant, module, *arguments))

    def enter(self, program: Program) -> Program:
        """Stop a program when the present work ends."""
        return self._work.enter_context(program)

    def _spark(self, contestant: str) -> Program:
        folder = self.new_folder(f"spark-{contestant}")
        jars = self.find(lambda: fetched_jars("connector")) if contestant == OURS else None
        names = ",".join(str(jar) for jar in sorted(jars.glob("*.jar"))) if jars else ""
        folder.mkdir()
        return self._program(contestant, "spark_application", str(folder), names)

    def _program(self, contestant: str, module: str, *arguments: str) -> Program:
        checkout = self.checkouts[contestant]
        return Program(
            f"{contestant}: {module}",
            [str(checkout.python), "-P", "-m", f"benchmarks.side.{module}", *arguments],
            environment={"PYTHONPATH": str(self._folder / "packages"), "PYSPARK_PYTHON": str(checkout.python)},
            folder=self._folder,
        )

    def _service(self, service: Service, name: str, make: Callable[[], AbstractContextManager[Found]]) -> Found:
        stack, running = self._services.setdefault(service, (ExitStack(), {}))
        if name not in running:
            running[name] = stack.enter_context(make())
        found: Found = running[name]
        return found
