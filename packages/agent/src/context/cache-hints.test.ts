import { type Item, itemId, sessionId } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../create-agent.ts';
import { cacheHints } from './cache-hints.ts';

const session = sessionId('s');
const on = { ttl: '5m' } as const;

/** The kinds of items by their first letters. Their ids are their positions. */
function itemsOf(letters: string): readonly Item[] {
  const kinds = {
    s: 'system',
    d: 'developer',
    u: 'user',
    c: 'context',
    a: 'assistant',
    t: 'tool',
    n: 'notification',
  } as const;
  return [...letters].map((letter, index) => ({
    id: itemId(String(index)),
    kind: kinds[letter as keyof typeof kinds],
    parts: [],
  }));
}

describe('the points of the cache', () => {
  test.each([
    ['the instructions and the input', 'su', ['0', '1']],
    ['the end of the previous request, however much was added', 'suatuu', ['0', '1', '5']],
    ['the last results', 'suatat', ['0', '3', '5']],
    ['the summary, which is an input', 'scua', ['0', '2']],
    ['all instructions at the start', 'sddu', ['2', '3']],
    ['no instruction at the end, which can still change its form', 'suad', ['0', '1']],
    ['an instruction that was answered', 'suadau', ['0', '3', '5']],
    ['what came before an answer that is continued', 'suaa', ['0', '1']],
    ['nothing for people', 'sun', ['0', '1']],
    ['nothing in an empty conversation', '', []],
  ])('are %s', (_what, letters, upTo) => {
    expect(cacheHints(itemsOf(letters), on, session)?.upTo).toEqual(upTo);
  });

  test('have a key that hides the name of the session and is short', () => {
    const keyOf = (name: string) => cacheHints(itemsOf('u'), on, sessionId(name))?.key ?? '';
    const key = keyOf(`${'ada@example.com'.repeat(20)}`);
    expect(key).toMatch(/^millrace-[0-9a-f]{16}$/);
    expect(keyOf('one')).not.toBe(keyOf('two'));
    expect(keyOf('one')).toBe(keyOf('one'));
  });
});

describe('the option', () => {
  async function sentWith(options: Partial<Parameters<typeof createAgent>[0]>) {
    const provider = scriptedProvider(['Yes.']);
    await createAgent({ provider, instructions: 'Be brief', ...options }).run('Hi').result;
    return provider.requests[0]?.request.cache;
  }

  test('is on by default, and the hints of the caller come first', async () => {
    expect((await sentWith({}))?.upTo[0]).toBe('instructions');
    expect(await sentWith({})).not.toHaveProperty('longLived');
    expect(await sentWith({ cache: { ttl: '1h' } })).toMatchObject({ longLived: true });
    expect(await sentWith({ cache: 'off' })).toBeUndefined();
    const own = { upTo: [], key: 'mine' };
    expect(await sentWith({ request: { cache: own } })).toEqual(own);
  });

  test('is rejected if it is unknown', () => {
    const provider = scriptedProvider([]);
    for (const cache of ['on', { ttl: '2h' }, { ttl: '5m', max: 1 }, null, true]) {
      const create = () => createAgent({ provider, cache: cache as never });
      expect(create).toThrow(expect.objectContaining({ code: 'bad_option' }));
    }
  });
});
