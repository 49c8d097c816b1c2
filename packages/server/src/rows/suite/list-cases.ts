import assert from 'node:assert/strict';
import type { Row, RowQuery, Rows } from '../../contract/rows.ts';
import { type RowSpec, rejectsWith } from './row-case.ts';

const idsOf = (rows: readonly Row[]) => rows.map(({ id }) => id).join(' ');

async function fill(rows: Rows, clock: { time: number }): Promise<void> {
  for (const [id, keys] of [
    ['a', { agent_id: 'x', status: 'RUNNING' }],
    ['b', { agent_id: 'y', status: 'RUNNING' }],
    ['c', { agent_id: 'x', status: 'FAILED' }],
    ['d', { agent_id: 'x', status: 'RUNNING' }],
  ] as const) {
    await rows.put('tasks', { id, keys, data: {} });
    clock.time += 1;
  }
  await rows.put('tasks', { id: 'a', keys: { agent_id: 'x', status: 'RUNNING' }, data: {} });
}

export const listCases: readonly RowSpec[] = [
  {
    name: 'rows are listed by keys, sorted by either time, in both directions',
    async run({ rows, clock }) {
      await fill(rows, clock);
      const ids = async (query?: RowQuery) => idsOf(await rows.list('tasks', query));
      assert.equal(await ids(), 'a b c d');
      assert.equal(await ids({ direction: 'desc' }), 'd c b a');
      assert.equal(await ids({ orderBy: 'updatedAt', direction: 'desc' }), 'a d c b');
      assert.equal(await ids({ where: { agent_id: 'x' } }), 'a c d');
      assert.equal(await ids({ where: { agent_id: 'x' }, orderBy: 'updatedAt' }), 'c d a');
      assert.equal(await ids({ where: { agent_id: 'x', status: 'RUNNING' } }), 'a d');
      assert.equal(await ids({ where: { agent_id: 'unknown' } }), '');
      assert.equal(await ids({ where: { colour: 'x' } }), '');
      assert.equal(await ids({ where: { agent_id: '\ud800' } }), '');
      assert.equal(await ids({ limit: 2, offset: 1 }), 'b c');
      assert.equal(await ids({ limit: 0 }), '');
    },
  },
  {
    name: 'a list ends before the row with which its documents are too long, and has at least one row',
    async run({ rows, clock }) {
      const lengths = { a: 10, b: 600, c: 300, d: 2000, e: 10, f: 10 };
      for (const [id, length] of Object.entries(lengths)) {
        const data = { text: 'x'.repeat(length) };
        await rows.put('states', { id, keys: { agent_id: 'x' }, data });
        clock.time += 1;
      }
      for (const where of [undefined, { agent_id: 'x' }]) {
        const ids = async (query: RowQuery) =>
          idsOf(await rows.list('states', { where, maxLength: 1000, ...query }));
        assert.equal(await ids({}), 'a b c');
        assert.equal(await ids({ limit: 2 }), 'a b');
        assert.equal(await ids({ offset: 2 }), 'c');
        assert.equal(await ids({ offset: 3 }), 'd');
        assert.equal(await ids({ offset: 4 }), 'e f');
        assert.equal(await ids({ offset: 6 }), '');
        assert.equal(await ids({ direction: 'desc' }), 'f e');
        assert.equal(await ids({ maxLength: 1e9 }), 'a b c d e f');
      }
    },
  },
  {
    name: 'a row is found by its new keys after a change',
    async run({ rows }) {
      await rows.put('tasks', { id: 'a', keys: { status: 'RUNNING' }, data: {} });
      await rows.put('tasks', { id: 'a', keys: { status: 'FAILED' }, data: {} });
      assert.equal(idsOf(await rows.list('tasks', { where: { status: 'RUNNING' } })), '');
      assert.equal(idsOf(await rows.list('tasks', { where: { status: 'FAILED' } })), 'a');
    },
  },
  {
    name: 'a list continues after any position, also a deleted row, and among rows with equal times',
    async run({ rows, clock }) {
      const ids = ['a', 'b', 'é', 'z', '\ufffd', '😀'];
      for (const id of ids) await rows.put('spans', { id, keys: { trace_id: 't' }, data: {} });
      await rows.delete('spans', 'b');
      for (const where of [undefined, { trace_id: 't' }]) {
        const after = async (id: string, direction: 'asc' | 'desc') =>
          idsOf(await rows.list('spans', { where, direction, after: { at: clock.time, id } }));
        assert.equal(await after('b', 'asc'), 'é z \ufffd 😀'.split(' ').sort(byBytes).join(' '));
        assert.equal(await after('b', 'desc'), 'a');
        assert.equal(await after('😀', 'asc'), '');
      }
    },
  },
  {
    name: 'the default limit is 50, and the maximum is 1,000',
    async run({ rows }) {
      for (let n = 0; n < 60; n++)
        await rows.put('agents', { id: `agent ${n}`, keys: {}, data: {} });
      assert.equal((await rows.list('agents')).length, 50);
      assert.equal((await rows.list('agents', { limit: 1000 })).length, 60);
      for (const query of [{ limit: -1 }, { limit: 1001 }, { offset: 1.5 }, { limit: Number.NaN }])
        await rejectsWith('bad_row', rows.list('agents', query));
    },
  },
];

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
