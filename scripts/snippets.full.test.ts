import { afterAll, describe, expect, test } from 'vitest';
import { runSnippets, typeErrors, writeSnippets } from './snippets/check-snippets.ts';
import { documents, readSnippets } from './snippets/read-snippets.ts';

const written = writeSnippets(documents.flatMap((path) => readSnippets(path).snippets));
afterAll(() => written.remove());

// Both take seconds, so they run at the same time.
const types = typeErrors(written);
const runs = runSnippets(written);
runs.catch(() => undefined);

describe('snippets of all documents', () => {
  test('20.1, 20.13: have correct types under strict checking', async () => {
    expect(await types).toEqual([]);
  });

  test('20.1: print what the document shows, and nothing else', async () => {
    const wrong = (await runs)
      .filter(({ printed, error, snippet }) => error !== undefined || printed !== snippet.printed)
      .map(({ printed, error, snippet }) => ({
        place: `${snippet.document}:${snippet.line}`,
        ...(error === undefined ? { printed, documented: snippet.printed } : { error }),
      }));
    expect(wrong).toEqual([]);
  });
});
