import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { builtPage } from './testing/built-page.ts';

/**
 * The largest size of the scripts, the style sheets and the language that the page loads before it shows a
 * chat: compressed with gzip, in bytes. Before you raise it, look for code that can load on demand.
 */
const limit = 113_000;

test('22.7: the first load of the page stays small', () => {
  const folder = builtPage();
  const page = readFileSync(join(folder, 'index.html'), 'utf8');
  const linked = [...page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.(?:js|css))"/g)];
  // The page loads the file of one language before it renders. The German file is the largest one.
  const german = readdirSync(join(folder, 'assets')).filter((name) => /^de-.+\.js$/.test(name));
  expect(german).toHaveLength(1);
  const files = [...linked.map(([, file = '']) => file), ...german.map((name) => `assets/${name}`)];
  const sizes = files.map((file) => {
    const bytes = gzipSync(readFileSync(join(folder, file)), { level: 9 }).length;
    return [file.replace(/-[\w-]{8}\./, '.'), bytes] as const;
  });
  const total = sizes.reduce((sum, [, bytes]) => sum + bytes, 0);
  expect(sizes.length).toBeGreaterThan(1);
  expect(total, sizes.map(([file, bytes]) => `${file}: ${bytes}`).join('\n')).toBeLessThanOrEqual(
    limit,
  );
});
