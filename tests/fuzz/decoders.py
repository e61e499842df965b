"""All decoders of the project in one table."""

from tests.fuzz.admission_decoders import ADMISSION_DECODERS
from tests.fuzz.column_decoders import COLUMN_DECODERS
from tests.fuzz.connection_decoders import CONNECTION_DECODERS
from tests.fuzz.connector_decoders import CONNECTOR_DECODERS
from tests.fuzz.decoder import Decoder
from tests.fuzz.metadata_decoders import METADATA_DECODERS
from tests.fuzz.record_decoders import RECORD_DECODERS
from tests.fuzz.security_decoders import SECURITY_DECODERS
from tests.fuzz.storage_decoders import STORAGE_DECODERS
from tests.fuzz.wire_decoders import WIRE_DECODERS

DECODERS: tuple[Decoder, ...] = (
    *WIRE_DECODERS,
    *CONNECTION_DECODERS,
    *RECORD_DECODERS,
    *METADATA_DECODERS,
    *ADMISSION_DECODERS,
    *COLUMN_DECODERS,
    *STORAGE_DECODERS,
    *CONNECTOR_DECODERS,
    *SECURITY_DECODERS,
)
