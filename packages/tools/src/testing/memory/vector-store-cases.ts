import { expect, test } from 'vitest';
import type { VectorEntry, VectorStore } from '../../contract/vector-store.ts';

/** Opens an empty store with three dimensions. `close` closes the store. */
type OpenStore = () => Promise<{ readonly store: VectorStore; readonly close: () => unknown }>;

const entry = (id: string, vector: readonly number[], more: Partial<VectorEntry> = {}) => ({
  ...{ id, scope: 'anna', text: `text of ${id}`, vector },
  ...more,
});

const all = (scope: string) => ({ scope, vector: [1, 1, 1], limit: 1000 });

/** Defines the tests that every store must pass. */
export function testVectorStore(name: string, open: OpenStore): void {
  const withStore = (title: string, check: (store: VectorStore) => Promise<void>) =>
    test(`${name}: ${title}`, async () => {
      const { store, close } = await open();
      try {
        await check(store);
      } finally {
        await close();
      }
    });
  const idsIn = async (store: VectorStore, scope = 'anna') =>
    (await store.search(all(scope))).map(({ id }) => id).sort();

  withStore('a search returns the nearest entries of its scope, the best first', async (store) => {
    const metadata = { title: 'Weather', tags: ['a', { b: null }] };
    await store.put([
      entry('south', [0, -2, 0]),
      entry('north', [0, 5, 0], { metadata, document: 'map' }),
      entry('northeast', [1, 1, 0]),
      entry('other', [0, 1, 0], { scope: 'ben' }),
    ]);
    const found = await store.search({ scope: 'anna', vector: [0, 0.5, 0], limit: 2 });
    expect(found.map(({ similarity, ...rest }) => rest)).toEqual([
      { id: 'north', text: 'text of north', metadata, document: 'map' },
      { id: 'northeast', text: 'text of northeast' },
    ]);
    expect(found[0]?.similarity).toBeCloseTo(1, 5);
    expect(found[1]?.similarity).toBeCloseTo(Math.SQRT1_2, 5);
    expect(await store.search({ scope: 'nobody', vector: [1, 0, 0], limit: 5 })).toEqual([]);
  });

  withStore('entries with the same similarity are ordered by id', async (store) => {
    await store.put(['c', 'a', 'b'].map((id) => entry(id, [1, 0, 0])));
    const found = await store.search({ scope: 'anna', vector: [1, 0, 0], limit: 2 });
    expect(found.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  withStore('an entry with the same id is replaced, in its scope only', async (store) => {
    await store.put([entry('x', [1, 0, 0], { metadata: { old: true } })]);
    await store.put([
      entry('x', [0, 1, 0], { text: 'new' }),
      entry('x', [0, 0, 1], { scope: 'ben' }),
    ]);
    const [found] = await store.search({ scope: 'anna', vector: [0, 1, 0], limit: 1 });
    expect(found).toMatchObject({ id: 'x', text: 'new' });
    expect(found?.metadata).toBeUndefined();
    expect(await idsIn(store, 'ben')).toEqual(['x']);
  });

  withStore('remove deletes by id in one scope and counts', async (store) => {
    await store.put([entry('a', [1, 0, 0]), entry('b', [1, 0, 0])]);
    await store.put([entry('a', [1, 0, 0], { scope: 'ben' })]);
    expect(await store.remove('anna', ['a', 'missing'])).toBe(1);
    expect(await store.remove('anna', ['a'])).toBe(0);
    expect(await store.remove('anna', [])).toBe(0);
    expect(await idsIn(store)).toEqual(['b']);
    expect(await idsIn(store, 'ben')).toEqual(['a']);
  });

  withStore('a document is replaced as a whole', async (store) => {
    await store.put([entry('note', [1, 0, 0])]);
    await store.replaceDocument('ben', 'doc', [entry('1', [1, 0, 0], { scope: 'ben' })]);
    await store.replaceDocument('anna', 'doc', [entry('1', [1, 0, 0]), entry('2', [0, 1, 0])]);
    await store.replaceDocument('anna', 'doc', [entry('2', [0, 0, 1]), entry('3', [0, 1, 0])]);
    expect(await idsIn(store)).toEqual(['2', '3', 'note']);
    await store.replaceDocument('anna', 'doc', []);
    expect(await idsIn(store)).toEqual(['note']);
    expect(await idsIn(store, 'ben')).toEqual(['1']);
  });

  withStore('an invalid entry changes nothing', async (store) => {
    await store.put([entry('a', [1, 0, 0])]);
    const bad: readonly [code: string, entry: VectorEntry][] = [
      ['wrong_dimensions', entry('b', [1, 0])],
      ['bad_value', entry('b', [0, 0, 0])],
      ['bad_value', entry('b', [1, Number.NaN, 0])],
      ['bad_value', entry('b', [1e300, 0, 0])],
      ['bad_value', entry('', [1, 0, 0])],
      ['bad_value', entry('b', [1, 0, 0], { text: 'half \uD800' })],
      ['bad_value', entry('b', [1, 0, 0], { text: 'a\0b' })],
    ];
    for (const [code, one] of bad) {
      const good = entry('c', [1, 0, 0]);
      await expect(store.put([good, one])).rejects.toMatchObject({ code });
      const replacing = store.replaceDocument('anna', 'doc', [good, one]);
      await expect(replacing).rejects.toMatchObject({ code });
    }
    const elsewhere = entry('c', [1, 0, 0], { scope: 'ben' });
    const mixed = store.replaceDocument('anna', 'doc', [elsewhere]);
    await expect(mixed).rejects.toMatchObject({ code: 'bad_value' });
    expect(await idsIn(store)).toEqual(['a']);
  });

  withStore('an invalid query is refused', async (store) => {
    const query = { scope: 'anna', vector: [1, 0, 0], limit: 1 };
    await expect(store.search({ ...query, vector: [1] })).rejects.toMatchObject({
      code: 'wrong_dimensions',
    });
    await expect(store.search({ ...query, limit: 0 })).rejects.toMatchObject({ code: 'bad_value' });
    await expect(store.search({ ...query, scope: '' })).rejects.toMatchObject({
      code: 'bad_value',
    });
  });

  withStore('quotes, unicode and long texts come back unchanged', async (store) => {
    const text = `'); DROP TABLE x; -- "ñ" 🌦 ${'long '.repeat(2000)}`;
    await store.put([entry(`it's "one"`, [1, 0, 0], { text, metadata: { text } })]);
    const [found] = await store.search({ scope: 'anna', vector: [1, 0, 0], limit: 1 });
    expect(found).toMatchObject({ id: `it's "one"`, text, metadata: { text } });
  });
}
