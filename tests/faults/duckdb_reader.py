"""Reads tables of Delta and Iceberg in S3 by DuckDB, which shares no code with their writers.

Run as a program by the Python of `make build/duckdb-1.5.5/.installed`, whose DuckDB has its extensions from packages:
for each line, JSON with a function such as `delta_scan`, an address and columns, it prints the rows, sorted, as JSON.
The environment says where S3 is.
"""

import json
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import duckdb


def main() -> None:
    """Answer each line."""
    with duckdb.connect() as database:
        for name in ("httpfs", "avro", "delta", "iceberg"):
            pattern = f"lib/*/site-packages/duckdb_extension_{name}/**/*.duckdb_extension"
            database.execute(f"load '{next(Path(sys.prefix).glob(pattern))}'")
        database.execute(
            f"create secret (type s3, key_id '{os.environ['AWS_ACCESS_KEY_ID']}', "
            f"secret '{os.environ['AWS_SECRET_ACCESS_KEY']}', region '{os.environ['AWS_REGION']}', "
            f"endpoint '{urlsplit(os.environ['AWS_ENDPOINT_URL']).netloc}', url_style 'path', use_ssl false)"
        )
        for line in sys.stdin:
            function, address, columns = json.loads(line)
            found = database.execute(f"select * from {function}(?)", [address])
            names = [each[0] for each in found.description]
            # A table that a first merge has made has its columns only then.
            shown = [names.index(each) for each in columns if each in names]
            rows = found.fetchall() if len(shown) == len(columns) else []
            print(json.dumps(sorted([row[each] or 0 for each in shown] for row in rows)), flush=True)


if __name__ == "__main__":
    main()
