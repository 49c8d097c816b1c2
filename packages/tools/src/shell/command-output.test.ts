import { TestClock } from '@millrace/log/suite';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { commandOutput } from './command-output.ts';

const encoder = new TextEncoder();

async function collect(chunks: readonly Uint8Array[], maxLength: number, maxKeptBytes = 1e6) {
  const updates: string[] = [];
  const update = (text: string) => updates.push(text);
  const output = commandOutput({ update, clock: new TestClock(), maxLength, maxKeptBytes });
  try {
    for (const chunk of chunks) await output.add(chunk);
    return { ...(await output.end()), updates };
  } finally {
    await output.close();
  }
}

test('characters are complete for any chunks of bytes', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'ü', '€', '😀', '\uFEFF'), maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 5 }), async (given, size) => {
      const bytes = encoder.encode(given);
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      const { text: shown, updates, whole } = await collect(chunks, 1000);
      expect(shown).toBe(given);
      expect(updates.join('')).toBe(given);
      expect(whole).toBeUndefined();
    }),
  );
});

test('invalid bytes are replaced, also at the end', async () => {
  const { text } = await collect([Uint8Array.of(0x61, 0xff, 0x62), Uint8Array.of(0xe2, 0x82)], 100);
  expect(text).toBe('a\uFFFDb\uFFFD');
});

test('the whole output is stored byte for byte if not all is shown, in memory or on disk', async () => {
  for (const count of [200, 10_000]) {
    const chunks = Array.from({ length: count }, (_, at) =>
      encoder.encode(`line ${at} ${'-'.repeat(50)}\n`),
    );
    const { whole, dropped, text, length } = await collect(chunks, 1000, 1e8);
    expect(Buffer.concat(chunks).equals(whole ?? new Uint8Array())).toBe(true);
    expect(dropped).toBe(0);
    expect(length).toBe(Buffer.concat(chunks).length);
    expect(text).toMatch(/^line 0 -*\n.*characters are left out here.*\nline \d+99 -*\n$/s);
  }
});

test('bytes beyond the limit are dropped and counted', async () => {
  const chunks = Array.from({ length: 50 }, () => new Uint8Array(30_000).fill(120));
  const { whole, dropped } = await collect(chunks, 1000, 1_000_001);
  expect(whole).toHaveLength(1_000_001);
  expect(dropped).toBe(499_999);
});

test('bytes that cannot be stored on disk count as dropped', async () => {
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = '/proc/nowhere';
  try {
    const chunks = Array.from({ length: 50 }, () => new Uint8Array(30_000).fill(120));
    const { text, whole, dropped } = await collect(chunks, 1000);
    expect(text).toMatch(/^x+\n\[… 1499000 characters are left out here …\]\nx+$/);
    expect((whole?.length ?? 0) + dropped).toBe(1_500_000);
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
});
