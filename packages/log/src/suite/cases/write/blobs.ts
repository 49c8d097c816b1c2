import * as assert from '../../assert.ts';
import type { CaseSpec } from '../../log-subject.ts';

const bytes = Uint8Array.from({ length: 1000 }, (_, index) => index % 256);
/** The SHA-256 of zero bytes, as `sha256sum` prints it for an empty file. */
const emptyHash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

export const blobCases: readonly CaseSpec[] = [
  {
    name: 'blob: is identified by its content, and storing it again gives the same reference',
    async run({ log }) {
      const [ref, ...again] = await Promise.all([1, 2, 3].map(() => log.blobs.put(bytes)));
      assert.match(ref?.hash ?? '', /^[0-9a-f]{64}$/);
      assert.equal(ref?.length, 1000);
      for (const other of again) assert.deepEqual(other, ref);
      assert.deepEqual(await log.blobs.get(ref?.hash ?? ''), bytes);
      assert.deepEqual(await log.blobs.put(new Uint8Array()), { hash: emptyHash, length: 0 });
      assert.deepEqual(await log.blobs.get(emptyHash), new Uint8Array());
    },
  },
  {
    name: 'blob: can be read in slices',
    async run({ log }) {
      const { hash } = await log.blobs.put(bytes);
      assert.deepEqual(await log.blobs.slice(hash, 10, 20), bytes.slice(10, 20));
      assert.deepEqual(await log.blobs.slice(hash, 990, 2000), bytes.slice(990));
      assert.deepEqual(await log.blobs.slice(hash, 1000, 1010), new Uint8Array());
      assert.deepEqual(await log.blobs.slice(hash, 5, 5), new Uint8Array());
    },
  },
  {
    name: 'blob: slices of a large blob equal the same bytes of the whole',
    async run({ log }) {
      const large = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 7919) % 251);
      const { hash } = await log.blobs.put(large);
      for (const [start, end] of [
        [0, 10],
        [65_530, 65_540],
        [262_140, 262_150],
        [262_144, 262_145],
        [299_990, 400_000],
        [300_000, 400_000],
        [900_000, 900_001],
        [5, 5],
        [9, 3],
      ] as const)
        assert.deepEqual(await log.blobs.slice(hash, start, end), large.slice(start, end));
      assert.deepEqual(await log.blobs.slice(hash, 0, Number.POSITIVE_INFINITY), large);
    },
  },
  {
    name: 'blob: reading a missing blob returns undefined',
    async run({ log }) {
      assert.equal(await log.blobs.get(emptyHash), undefined);
      assert.equal(await log.blobs.slice(emptyHash, 0, 1), undefined);
      assert.equal(await log.blobs.get("' OR 1=1"), undefined);
    },
  },
  {
    name: 'blob: changing the bytes outside the store has no effect',
    async run({ log }) {
      const given = bytes.slice();
      const put = log.blobs.put(given);
      given.fill(1);
      const { hash } = await put;
      (await log.blobs.get(hash))?.fill(2);
      (await log.blobs.slice(hash, 0, 10))?.fill(3);
      assert.deepEqual(await log.blobs.get(hash), bytes);
    },
  },
  {
    name: 'blob: exists after reopening the store',
    needsDurable: true,
    async run({ log, another }) {
      const { hash } = await log.blobs.put(bytes);
      await log.close();
      assert.deepEqual(await (await another()).blobs.get(hash), bytes);
    },
  },
];
