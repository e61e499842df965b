"""Converts Kafka record batches to Arrow record batches and back by columns, without a Python object for each record.

`decode` reads, `encode_batch` writes; `encoded_size` returns the size of a batch in advance.
"""

from datasource.columns.decode import Decoded, decode
from datasource.columns.encode import encode_batch, encoded_size
from datasource.columns.schema import read_schema

__all__ = ["Decoded", "decode", "encode_batch", "encoded_size", "read_schema"]
