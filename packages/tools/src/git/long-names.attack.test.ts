import { expect, test } from 'vitest';
import { checkedOutPaths, indexPaths, submodulePaths } from './git-index.ts';

// A hostile repository has an index of version 4, whose names reuse the beginning of the previous name. A small file
// then stands for names of many gigabytes.

const parts = { shared: [], hashBytes: 20 } as const;

interface Entry {
  readonly removed: number;
  readonly added: string;
  readonly length: number;
}

function indexOf(entries: readonly Entry[]): Buffer {
  const head = Buffer.alloc(12);
  head.write('DIRC');
  head.writeUInt32BE(4, 4);
  head.writeUInt32BE(entries.length, 8);
  const bodies = entries.map(({ removed, added, length }) => {
    const fields = Buffer.alloc(62);
    fields.writeUInt32BE(0o100644, 24);
    fields.writeUInt16BE(Math.min(length, 0xfff), 60);
    return Buffer.concat([fields, Buffer.from([removed]), Buffer.from(`${added}\0`)]);
  });
  return Buffer.concat([head, ...bodies, Buffer.alloc(20)]);
}

/** An index with a first name of this length, and many names that add five bytes to it. */
function prefixed(length: number, count: number): Buffer {
  const first = { removed: 0, added: 'a'.repeat(length), length };
  const rest = Array.from({ length: count }, (_, at) => ({
    ...{ removed: at === 0 ? 0 : 5, length: length + 5 },
    added: `b${String(at % 10_000).padStart(4, '0')}`,
  }));
  return indexOf([first, ...rest]);
}

test('18.607: attack: an index whose names are longer than a path is damaged', () => {
  const index = prefixed(100_000, 100_000);
  for (const read of [indexPaths, checkedOutPaths, submodulePaths])
    expect(read(index, parts)).toBeUndefined();
});

test('18.607: attack: an index whose names are too long together is damaged', () => {
  const index = prefixed(4000, 40_000);
  for (const read of [indexPaths, checkedOutPaths, submodulePaths])
    expect(read(index, parts)).toBeUndefined();
});

test('18.607: attack: the shared files of a split index count together', () => {
  const shared = Array.from({ length: 20 }, () => prefixed(4000, 1000));
  expect(indexPaths(prefixed(40, 1), { ...parts, shared })).toBeUndefined();
  expect(indexPaths(prefixed(40, 1), { ...parts, shared: shared.slice(0, 2) })).toHaveLength(1003);
});

test('18.607: an index with long names can be read', () => {
  const paths = indexPaths(prefixed(4000, 1000), parts);
  expect(paths).toHaveLength(1001);
  expect(paths?.at(-1)).toHaveLength(4005);
});
