import { writeFileSync } from 'node:fs';
import type { QueryResult, QueryRow } from '@millrace/log/query';
import { type BasicType, parquetWriteBuffer } from 'hyparquet-writer';
import { UsageError } from '../contract/errors.ts';

type Value = QueryRow[string];

/** Writes the rows of a query to a new Parquet file that only the user can read. */
export function writeParquet({ columns, rows }: QueryResult, path: string): void {
  const columnData = columns.map((name) => {
    const values = rows.map((row) => row[name] ?? null);
    const type = typeOf(values);
    return { name, type, nullable: true, data: values.map((value) => parquetValue(value, type)) };
  });
  const bytes = new Uint8Array(parquetWriteBuffer({ columnData }));
  try {
    writeFileSync(path, bytes, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EEXIST' ? 'it already exists. Name a new file' : String(code);
    throw new UsageError(`Cannot write ${path}: ${why}`, { path }, { cause: error });
  }
}

/** Returns the type of a column. A column with texts and numbers becomes a column of texts. */
function typeOf(values: readonly Value[]): BasicType {
  const present = values.filter((value) => value !== null);
  if (present.every((value) => value instanceof Uint8Array) && present.length > 0)
    return 'BYTE_ARRAY';
  if (present.length === 0 || !present.every((value) => typeof value !== 'string')) return 'STRING';
  return present.every((value) => Number.isInteger(Number(value))) ? 'INT64' : 'DOUBLE';
}

function parquetValue(value: Value, type: BasicType): Value {
  if (value === null || type === 'BYTE_ARRAY') return value;
  if (type === 'STRING') return String(value);
  return type === 'INT64' ? BigInt(value as number | bigint) : Number(value);
}
