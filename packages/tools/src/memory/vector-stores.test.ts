import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testVectorStore } from '../testing/memory/vector-store-cases.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { inMemoryVectorStore, openSqliteVectorStore } from './index.ts';

testVectorStore('memory', async () => ({
  store: inMemoryVectorStore({ dimensions: 3 }),
  close: () => {},
}));

testVectorStore('sqlite-vec', async () => {
  const store = await openSqliteVectorStore({ path: ':memory:', dimensions: 3 });
  return { store, close: () => store.close() };
});

const entry = (id: string) => ({ id, scope: 'anna', text: id, vector: [1, 0, 0] });

test('the store in memory refuses more than its maximum, and counts replaced entries once', async () => {
  const store = inMemoryVectorStore({ dimensions: 3, maxEntries: 2 });
  await store.put([entry('a'), entry('b')]);
  await store.put([entry('a'), entry('b')]);
  await expect(store.put([entry('c')])).rejects.toMatchObject({ code: 'full' });
  await store.remove('anna', ['a']);
  await store.replaceDocument('anna', 'doc', [entry('c')]);
  await store.replaceDocument('anna', 'doc', [entry('c')]);
  const tooMany = store.replaceDocument('anna', 'doc', [entry('d'), entry('e')]);
  await expect(tooMany).rejects.toMatchObject({ code: 'full' });
  const found = await store.search({ scope: 'anna', vector: [1, 0, 0], limit: 9 });
  expect(found.map(({ id }) => id)).toEqual(['b', 'c']);
});

test('a SQLite file keeps its entries, and refuses other dimensions and table names', async () => {
  const path = join(await temporaryFolder(), 'memory.db');
  const first = await openSqliteVectorStore({ path, dimensions: 3 });
  await first.put([entry('a')]);
  first.close();
  const again = await openSqliteVectorStore({ path, dimensions: 3 });
  expect(await again.search({ scope: 'anna', vector: [1, 0, 0], limit: 9 })).toHaveLength(1);
  again.close();
  await expect(openSqliteVectorStore({ path, dimensions: 4 })).rejects.toMatchObject({
    code: 'wrong_dimensions',
  });
  const table = 'a; DROP TABLE b';
  await expect(openSqliteVectorStore({ path, dimensions: 3, table })).rejects.toMatchObject({
    code: 'bad_value',
  });
});

test.skipIf(process.platform === 'win32')(
  '18.869: attack: other users cannot read the file of a vector store',
  async () => {
    const path = join(await temporaryFolder(), 'memory.db');
    writeFileSync(path, '', { mode: 0o644 });
    chmodSync(path, 0o644);
    const store = await openSqliteVectorStore({ path, dimensions: 3 });
    await store.put([entry('a')]);
    for (const end of ['', '-wal', '-shm']) expect(statSync(path + end).mode & 0o777).toBe(0o600);
    store.close();
  },
);

test('unknown options are refused', async () => {
  const options = { dimension: 3 } as unknown as { dimensions: number };
  expect(() => inMemoryVectorStore(options)).toThrow('Did you mean dimensions?');
});
