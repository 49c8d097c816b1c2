import { expect, test } from 'vitest';
import type { Row } from '../contract/rows.ts';
import { memoryRows } from '../rows/memory-rows.ts';
import { tickingClock } from '../testing/servers/task-harness.ts';
import { listRows } from './row-access.ts';

const page = { pageNumber: 1, orderBy: 'created_at', direction: 'asc' } as const;
const toItem = ({ id }: Row) => id;

async function someRows(count: number, data = {}) {
  const rows = memoryRows({ clock: tickingClock() });
  for (let n = 0; n < count; n++) await rows.put('spans', { id: `s${n}`, keys: {}, data });
  return rows;
}

let many: ReturnType<typeof someRows> | undefined;

/** Creates more rows than the server reads for one page. Several tests use them. */
function manyRows() {
  many ??= someRows(10_250);
  return many;
}

const ids = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => `s${from + n}`);

test('pages by number and by cursor have the same rows', async () => {
  const rows = await someRows(7);
  const list = (more: object) =>
    listRows(rows, { table: 'spans', where: {}, toItem }, { ...page, limit: 3, ...more });
  const first = await list({});
  expect(first.data).toEqual(ids(0, 3));
  expect((await list({ pageNumber: 2 })).data).toEqual(ids(3, 6));
  const second = await list({ cursor: first.next });
  expect(second.data).toEqual(ids(3, 6));
  expect(await list({ cursor: second.next })).toEqual({ data: ids(6, 7), next: null });
  expect(await list({ pageNumber: 4 })).toEqual({ data: [], next: null });
});

test('a list with few matches is scanned in steps to its end', async () => {
  const rows = await manyRows();
  const list = (cursor?: string) =>
    listRows(
      rows,
      { table: 'spans', where: {}, toItem, matches: ({ id }) => id === 's10049' },
      { ...page, limit: 3, cursor },
    );
  const first = await list();
  expect(first).toEqual({ data: [], next: expect.any(String) });
  expect(await list(first.next ?? '')).toEqual({ data: ['s10049'], next: null });
});

test('21.K: a page beyond 10,000 rows has its rows', async () => {
  const rows = await manyRows();
  const list = (more: object) =>
    listRows(rows, { table: 'spans', where: {}, toItem }, { ...page, limit: 100, ...more });
  expect((await list({ pageNumber: 102 })).data).toEqual(ids(10_100, 10_200));
  expect(await list({ pageNumber: 103 })).toEqual({ data: ids(10_200, 10_250), next: null });
  expect(await list({ pageNumber: 104 })).toEqual({ data: [], next: null });
  const before = await list({ pageNumber: 102, direction: 'desc' });
  expect(before.data).toEqual(ids(50, 150).reverse());
});

test('21.K: a page that is out of reach is refused with what to do, and never empty', async () => {
  const rows = await manyRows();
  const list = (of: object, more: object) =>
    listRows(rows, { table: 'spans', where: {}, toItem, ...of }, { ...page, limit: 100, ...more });
  const refused = { code: 'invalid', message: expect.stringContaining('x-next-cursor') };
  const far = { pageNumber: 1_000_000 };
  await expect(list({}, far)).rejects.toMatchObject(refused);
  const few = { matches: ({ id }: Row) => Number(id.slice(1)) % 100 === 0 };
  expect((await list(few, { pageNumber: 1 })).data).toHaveLength(100);
  await expect(list(few, { pageNumber: 2 })).rejects.toMatchObject(refused);
  // The cursor reaches the remaining rows.
  const { next } = await list(few, { pageNumber: 1 });
  expect((await list(few, { cursor: next })).data).toEqual(['s10000', 's10100', 's10200']);
});

test('18.493: a page that is too large ends early, and its cursor reaches the other rows', async () => {
  const rows = await someRows(20, { text: 'x'.repeat(2 ** 20) });
  const list = (more: object) =>
    listRows(rows, { table: 'spans', where: {}, toItem }, { ...page, limit: 20, ...more });
  const first = await list({});
  expect(first).toEqual({ data: ids(0, 15), next: expect.any(String) });
  expect(await list({ cursor: first.next })).toEqual({ data: ids(15, 20), next: null });
  expect((await list({ limit: 10 })).data).toEqual(ids(0, 10));
});

test('18.493: a page by its number is refused if it is too large, because the next number would skip rows', async () => {
  const rows = await someRows(40, { text: 'x'.repeat(2 ** 20) });
  const list = (limit: number, pageNumber: number) =>
    listRows(rows, { table: 'spans', where: {}, toItem }, { ...page, limit, pageNumber });
  await expect(list(20, 2)).rejects.toMatchObject({ code: 'too_large' });
  expect((await list(10, 2)).data).toEqual(ids(10, 20));
});
