"""The objects that hold secrets, or references to them, as they represent themselves."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator

from datasource import KraftDataSource
from datasource.options import ReadOptions, WriteOptions
from raft.client import Client
from raft.security.authority import Authority
from raft.security.client_protection import ClientProtection
from raft.security.jaas import JaasEntry
from raft.security.references import resolve
from raft.security.sasl_client import PlainAuthenticator, ScramAuthenticator
from tests.secured_spark.planting import SERVERS, VARIABLE, Options


def objects_of(options: Options, control: str) -> Iterator[tuple[str, str]]:
    """Yield the classes of objects and what they show.

    Args:
        options: refer to the password in `VARIABLE`.
        control: a value that is no secret.
    """
    secret = os.environ[VARIABLE]
    jaas = resolve(options["kraft.sasl.jaas.config"])
    assert secret in jaas, "these options refer to it"
    shown_options = {**options, "kraft.read.from": "nearest", "kraft.client.rack": control}
    literal_options = ReadOptions.of({**options, "kraft.sasl.jaas.config": jaas})
    read, source = ReadOptions.of(shown_options), KraftDataSource({**options, "kraft.client.rack": control})
    assert read.client.security is not None, "the options say how connections are secured"
    client, protection = Client(read.client), ClientProtection(read.client.security)
    objects: list[object] = [
        read,
        literal_options,
        pickle.loads(pickle.dumps(literal_options)),
        WriteOptions.of(options),
        client,
        vars(client),
        protection,
        vars(protection),
        KraftDataSource(options).reader(KraftDataSource(options).schema()),
        source,
        JaasEntry.parse(jaas, options["kraft.sasl.mechanism"]),
        PlainAuthenticator("user", secret),
        ScramAuthenticator(options["kraft.sasl.mechanism"], "user", secret),
        Authority.create("authority"),
        options[SERVERS],
    ]
    for each in objects:
        yield type(each).__name__, f"{each!r}\n{each!s}"
