"""Many Kafka record batches to Arrow record batches and back, by columns: no Python object a record.

Data's way out is `decode`, its way in `encode_batch`; `encoded_size` says beforehand how large a batch would be.
"""

from datasource.columns.decode import Decoded, decode
from datasource.columns.encode import encode_batch, encoded_size
from datasource.columns.schema import read_schema

__all__ = ["Decoded", "decode", "encode_batch", "encoded_size", "read_schema"]
