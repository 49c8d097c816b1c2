import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { openLogIndex, type QueryResult, type QueryTable, queryTables } from '@millrace/log/query';
import { endOnSignals } from '../command/stop-signals.ts';
import type { SqlArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import { exitCodes } from '../exit-code.ts';
import { Output } from '../print/output.ts';
import { countOf, textTable } from '../print/text-table.ts';
import { type StoreCommandOptions, withStore } from '../store/open-store.ts';

export interface SqlCommandOptions extends StoreCommandOptions<SqlArgs> {
  readonly stdin: NodeJS.ReadableStream;
}

/** Runs `millrace sql`. It prints the rows of a query, or the tables if there is no query. */
export async function sqlCommand(options: SqlCommandOptions): Promise<number> {
  const { args, stdin, stdout, cwd, signal } = options;
  const output = new Output(stdout);
  const query = args.query === '-' ? await text(stdin) : args.query;
  if (query === undefined) await writeTables(output, args.format);
  else
    await withStore(options, async ({ log }) => {
      const index = await openLogIndex(log, { since: sinceTime(args.since), signal });
      try {
        endOnSignals(signal);
        const result = index.query(query);
        if (args.parquet === undefined) await writeResult(result, args.format, output);
        else {
          const { writeParquet } = await import('./write-parquet.ts');
          writeParquet(result, resolve(cwd, args.parquet));
          await output.write(`Wrote ${countOf(result.rows.length, 'row')} to ${args.parquet}\n`);
        }
      } finally {
        index.close();
      }
    });
  if (output.failure?.code === 'cannot_write') throw output.failure;
  return exitCodes.done;
}

async function writeTables(output: Output, format: SqlArgs['format']): Promise<void> {
  if (format === 'json') return output.writeData(`${JSON.stringify(queryTables, undefined, 2)}\n`);
  if (format === 'csv') throw new UsageError('--csv needs a query. --json also prints the tables');
  for (const line of queryTables.flatMap(tableLines)) await output.write(`${line}\n`);
}

function tableLines({ name, about, columns }: QueryTable): readonly string[] {
  const rows = Object.entries(columns).map(([column, meaning]) => [`  ${column}`, meaning]);
  return [`${name}: ${about}`, ...textTable(rows), ''];
}

async function writeResult(
  { columns, rows }: QueryResult,
  format: SqlArgs['format'],
  output: Output,
): Promise<void> {
  if (format === 'json') {
    for (const row of rows) await output.writeData(`${JSON.stringify(row)}\n`);
    return;
  }
  const cells = rows.map((row) => columns.map((column) => cellText(row[column])));
  if (format === 'csv') {
    for (const row of [columns, ...cells]) await output.writeData(`${csvLine(row)}\n`);
    return;
  }
  const { stream } = output;
  const width = stream.isTTY ? stream.columns : undefined;
  const isNumber = (column: string) => rows.every((row) => typeof row[column] === 'number');
  const rightAligned = columns.flatMap((column, at) => (isNumber(column) ? [at] : []));
  const oneLine = cells.map((row) => row.map((cell) => cell.replaceAll(/\s+/g, ' ')));
  for (const line of textTable([columns, ...oneLine], { columns: width, rightAligned }))
    await output.write(`${line}\n`);
  await output.write(`${countOf(rows.length, 'row')}\n`);
}

function cellText(value: QueryResult['rows'][number][string] | undefined): string {
  return value === null || value === undefined ? '' : String(value);
}

/** Returns a line of CSV (RFC 4180). */
function csvLine(cells: readonly string[]): string {
  const quoted = cells
    .map((cell) => (isFormula(cell) ? `'${cell}` : cell))
    .map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell));
  return `${quoted.join(',')}\r`;
}

/**
 * True if a spreadsheet could execute a cell as a formula. Models and imported sessions write the texts, and a
 * formula can start programs or send the other cells to a server.
 */
function isFormula(cell: string): boolean {
  const isNumber = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(cell);
  return !isNumber && /^\s*[=+\-@＝＋－＠]/u.test(cell);
}

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 } as const;

/** Returns the time that `--since` names: a date, or an age such as `7d`. */
function sinceTime(since: string | undefined): number | undefined {
  if (since === undefined) return undefined;
  const [, count, unit] = /^(\d{1,6})([mhdw])$/.exec(since) ?? [];
  if (count !== undefined) return Date.now() - Number(count) * unitMs[unit as keyof typeof unitMs];
  const time = /^\d{4}-\d\d-\d\d/.test(since) ? Date.parse(since) : Number.NaN;
  if (Number.isFinite(time)) return time;
  throw new UsageError(
    '--since takes an age or a date: --since 7d, --since 12h, --since 2026-01-31',
  );
}
