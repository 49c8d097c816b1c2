import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testVectorStore } from '../testing/memory/vector-store-cases.ts';
import { openPostgresVectorStore } from './index.ts';

// These tests use Postgres and pgvector compiled to WebAssembly. The SQL therefore runs on the real programs,
// without a server.

let client: PGlite;
let tables = 0;

beforeAll(async () => {
  client = await PGlite.create({ extensions: { vector } });
});

afterAll(() => client.close());

testVectorStore('pgvector', async () => ({
  store: await openPostgresVectorStore({ client, dimensions: 3, table: `vectors_${tables++}` }),
  close: () => {},
}));

test('a table keeps its entries, and refuses other dimensions and names', async () => {
  const entry = { id: 'a', scope: 'anna', text: 'sun', vector: [1, 0, 0] };
  await (await openPostgresVectorStore({ client, dimensions: 3 })).put([entry, entry]);
  const again = await openPostgresVectorStore({ client, dimensions: 3 });
  expect(await again.search({ scope: 'anna', vector: [1, 0, 0], limit: 9 })).toHaveLength(1);
  await expect(openPostgresVectorStore({ client, dimensions: 4 })).rejects.toMatchObject({
    code: 'wrong_dimensions',
  });
  const table = 'a; DROP TABLE b';
  await expect(openPostgresVectorStore({ client, dimensions: 3, table })).rejects.toMatchObject({
    code: 'bad_value',
  });
});

test('a server without pgvector gives an error that says what to install', async () => {
  const bare = await PGlite.create();
  await expect(openPostgresVectorStore({ client: bare, dimensions: 3 })).rejects.toMatchObject({
    code: 'no_extension',
    message: expect.stringContaining('install pgvector'),
  });
  await bare.close();
});
