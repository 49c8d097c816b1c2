import { describe, expect, test } from 'vitest';
import { Citations } from './citations.ts';

describe('citations', () => {
  test('are kept once each, in the order in which they came', () => {
    const citations = new Citations();
    expect(citations.isEmpty).toBe(true);
    const first = { url: 'https://a', title: 'A', raw: { url: 'https://a', start: 1 } };
    expect(citations.add(first)).toBe(true);
    expect(citations.add({ url: 'https://b', raw: 'https://b' })).toBe(true);
    expect(citations.add({ ...first, raw: { ...first.raw } })).toBe(false);
    expect(citations.add({ url: 'https://b', raw: 'https://b' })).toBe(false);
    expect(citations.isEmpty).toBe(false);
    expect(citations.metadata).toEqual({
      citations: [first, { url: 'https://b', raw: 'https://b' }],
    });
  });

  test('of one source at two places are two', () => {
    const citations = new Citations();
    expect(citations.add({ url: 'https://a', raw: { url: 'https://a', start: 1 } })).toBe(true);
    expect(citations.add({ url: 'https://a', raw: { url: 'https://a', start: 9 } })).toBe(true);
    expect(citations.metadata['citations']).toHaveLength(2);
  });

  test('have only the known fields', () => {
    const citations = new Citations();
    citations.add({ raw: { id: 7 } });
    expect(citations.metadata).toEqual({ citations: [{ raw: { id: 7 } }] });
  });

  test('that were emitted do not change', () => {
    const citations = new Citations();
    citations.add({ raw: 'a' });
    const before = citations.metadata;
    citations.add({ raw: 'b' });
    expect(before).toEqual({ citations: [{ raw: 'a' }] });
  });

  test('have a maximum number', () => {
    const citations = new Citations();
    const added = Array.from({ length: 5000 }, (_, nth) =>
      citations.add({ raw: `https://${nth}` }),
    );
    expect(added.filter(Boolean)).toHaveLength(1024);
    expect(citations.metadata['citations']).toHaveLength(1024);
  });
});
