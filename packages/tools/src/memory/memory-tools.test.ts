import { createAgent } from '@millrace/agent';
import { toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { runTool } from '../testing/tool-context.ts';
import {
  addDocuments,
  type EmbedTexts,
  inMemoryVectorStore,
  memoryTool,
  retrievalTool,
} from './index.ts';
import { splitPassages } from './retrieval-tool.ts';

const topics = ['weather|rain|sun', 'refund|order|money', 'train|flight|travel'];

/** Embeds a text by the topics of its words. */
const embed: EmbedTexts = async (texts, { signal }) => {
  signal?.throwIfAborted();
  const vectors = texts.map((text) => [
    ...topics.map((words) => text.match(new RegExp(words, 'gi'))?.length ?? 0),
    0.1,
  ]);
  return { vectors };
};

const newStore = () => inMemoryVectorStore({ dimensions: 4 });

test('an agent remembers in one session and recalls in another, for the same user only', async () => {
  const store = newStore();
  const log = memoryLog();
  const callOf = (input: object) =>
    ({
      kind: 'tool_call',
      toolCallId: toolCallId('c1'),
      name: 'memory',
      arguments: JSON.stringify(input),
    }) as const;
  const call = (action: string, text: string) => ({
    content: { parts: [callOf({ action, text })] },
  });
  const runFor = async (scope: string, ...calls: readonly ReturnType<typeof call>[]) => {
    const tools = [memoryTool({ store, embed, scope })];
    const agent = createAgent({ provider: scriptedProvider([...calls, 'Done.']), tools, log });
    const { items } = await agent.run('Hello').result;
    return JSON.stringify(items);
  };
  await runFor('anna', call('save', 'Anna wants a refund as money'));
  expect(await runFor('anna', call('search', 'How was the order paid back?'))).toContain(
    'Anna wants a refund',
  );
  expect(await runFor('ben', call('search', 'How was the order paid back?'))).toContain(
    'Nothing found',
  );
});

test('saving again for the same call writes one memory, and forget deletes it in its scope', async () => {
  const store = newStore();
  const tool = memoryTool({ store, embed, scope: 'anna' });
  const fact = { action: 'save', text: 'Anna likes sun' } as const;
  const first = await runTool(tool, fact);
  expect(await runTool(tool, fact)).toEqual(first);
  const search = { scope: 'anna', vector: [1, 0, 0, 0], limit: 9 };
  expect(await store.search(search)).toHaveLength(1);
  const { id } = first.value as { readonly id: string };
  const other = memoryTool({ store, embed, scope: 'ben' });
  expect(await runTool(other, { action: 'forget', text: id })).toMatchObject({ isError: true });
  expect(await runTool(tool, { action: 'forget', text: id })).toMatchObject({ text: 'Forgotten.' });
  expect(await store.search(search)).toEqual([]);
});

test('the retrieval tool returns passages with their documents, the best first', async () => {
  const store = newStore();
  const documents = [
    { id: 'returns.md', text: 'A refund takes five days.\n\nThe money goes to the card.' },
    { id: 'travel.md', text: 'Take the train.', metadata: { year: 2026 } },
  ];
  await addDocuments(documents, { store, embed, scope: 'handbook' });
  const tool = retrievalTool({ store, embed, scope: 'handbook', limit: 1 });
  expect(tool).toMatchObject({ name: 'search_documents', effects: 'none', afterCrash: 'repeat' });
  const found = await runTool(tool, { query: 'When is my refund here?' });
  expect(found.text).toBe(`[1] returns.md\n${documents[0]?.text}`);
  await addDocuments([{ id: 'returns.md', text: '  ' }], { store, embed, scope: 'handbook' });
  const later = await runTool(tool, { query: 'refund by train' });
  expect(later.value).toMatchObject([{ document: 'travel.md', metadata: { year: 2026 } }]);
});

test('an abort stops a search, and misspelt options are refused', async () => {
  const store = newStore();
  const abort = new AbortController();
  abort.abort(new Error('stop'));
  const options = { store, embed, scope: 'x', signal: abort.signal };
  await expect(addDocuments([{ id: 'a', text: 'b' }], options)).rejects.toThrow('stop');
  const typo = { store, embed, scope: 'x', limits: 3 } as object;
  expect(() => memoryTool(typo as never)).toThrow('Did you mean limit?');
  expect(() => retrievalTool({ store, embed, scope: 'x', limit: 0 })).toThrow('from 1 to 100');
});

test('any text is split into passages that have all its words', () => {
  const word = fc
    .string({ minLength: 1, maxLength: 30, unit: 'grapheme' })
    .map((text) => text.replace(/\s/g, '_'));
  const gap = fc.constantFrom(' ', '\n', '\n\n', '. ');
  const text = fc.array(fc.tuple(word, gap), { maxLength: 40 }).map((all) => all.flat().join(''));
  const words = (parts: readonly string[]) =>
    parts
      .join(' ')
      .split(/\s+/)
      .filter((one) => one !== '');
  fc.assert(
    fc.property(text, fc.integer({ min: 100, max: 160 }), (given, maxLength) => {
      const passages = splitPassages(given, maxLength);
      expect(passages.every(({ length }) => length > 0 && length <= maxLength)).toBe(true);
      expect(words(passages)).toEqual(words([given]));
    }),
    { numRuns: runs(50) },
  );
  const unbroken = '🌦'.repeat(200);
  expect(splitPassages(unbroken, 101).join('')).toBe(unbroken);
  expect(splitPassages(unbroken, 101).every((one) => one.isWellFormed())).toBe(true);
});
