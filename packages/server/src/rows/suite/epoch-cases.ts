import assert from 'node:assert/strict';
import { type RowSpec, rejectsWith } from './row-case.ts';

const row = (n: number) => ({ id: 'a', keys: { status: 'RUNNING' }, data: { n } });

/**
 * Test cases for writes that belong to a run. After a later run has claimed the row, an earlier run must not
 * change it.
 */
export const epochCases: readonly RowSpec[] = [
  {
    name: 'a claim stores a higher epoch, and changes neither the version nor the times',
    async run({ rows, clock }) {
      const put = await rows.put('tasks', row(1));
      clock.time += 10;
      assert.equal(await rows.claim('tasks', 'b', 5), undefined);
      assert.deepEqual(await rows.claim('tasks', 'a', 5), { ...put, epoch: 5 });
      assert.deepEqual(await rows.get('tasks', 'a'), { ...put, epoch: 5 });
      assert.deepEqual(await rows.claim('tasks', 'a', 4), { ...put, epoch: 5 });
      assert.deepEqual((await rows.list('tasks'))[0], { ...put, epoch: 5 });
    },
  },
  {
    name: 'a put with an older epoch than the claim is refused and stores nothing',
    async run({ rows }) {
      const { version } = await rows.put('tasks', row(1));
      await rows.claim('tasks', 'a', 6);
      await rejectsWith('fenced', rows.put('tasks', row(2), { epoch: 5 }));
      await rejectsWith('fenced', rows.put('tasks', row(2), { epoch: 5, ifVersion: version }));
      assert.deepEqual((await rows.get('tasks', 'a'))?.data, { n: 1 });
      assert.equal((await rows.put('tasks', row(3), { epoch: 6 })).epoch, 6);
      assert.equal((await rows.put('tasks', row(4), { epoch: 7 })).epoch, 7);
      await rejectsWith('fenced', rows.put('tasks', row(5), { epoch: 6 }));
    },
  },
  {
    name: 'a put without an epoch is not refused, and keeps the epoch of the row',
    async run({ rows }) {
      await rows.put('tasks', row(1), { epoch: 3 });
      const { version, epoch } = await rows.put('tasks', row(2));
      assert.deepEqual([version, epoch], [2, 3]);
    },
  },
  {
    name: 'a claim can replace exactly one higher epoch, that of a log which was replaced',
    async run({ rows }) {
      await rows.put('tasks', row(1), { epoch: 90 });
      assert.equal((await rows.claim('tasks', 'a', 5, { replacing: 80 }))?.epoch, 90);
      assert.equal((await rows.claim('tasks', 'a', 5, { replacing: 90 }))?.epoch, 5);
      assert.equal((await rows.put('tasks', row(2), { epoch: 5 })).version, 2);
    },
  },
  {
    name: 'a deleted row loses its epoch, and an epoch that is not a count is rejected',
    async run({ rows }) {
      await rows.put('tasks', row(1), { epoch: 90 });
      await rows.delete('tasks', 'a');
      assert.equal((await rows.put('tasks', row(1))).epoch, 0);
      for (const epoch of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
        await rejectsWith('bad_row', rows.put('tasks', row(2), { epoch }));
        await rejectsWith('bad_row', rows.claim('tasks', 'a', epoch));
      }
    },
  },
  {
    name: 'of a claim and an older write at the same time, the row ends with the claim',
    async run({ rows }) {
      for (let n = 1; n <= 20; n++) {
        await rows.put('tasks', row(0));
        const write = rows.put('tasks', row(n), { epoch: 2 * n });
        const stored = write.then(
          () => n,
          () => 0,
        );
        const [claimed, written] = await Promise.all([rows.claim('tasks', 'a', 2 * n + 1), stored]);
        assert.equal(claimed?.epoch, 2 * n + 1);
        const after = await rows.get('tasks', 'a');
        assert.equal(after?.epoch, 2 * n + 1);
        assert.deepEqual(after.data, { n: written });
      }
    },
  },
];
