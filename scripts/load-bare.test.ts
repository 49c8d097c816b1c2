import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test('core runs with only the ECMAScript globals', () => {
  const script = fileURLToPath(new URL('load-bare.ts', import.meta.url));
  const flags = ['--experimental-vm-modules', '--no-warnings'];
  const printed = execFileSync(process.execPath, [...flags, script], { encoding: 'utf8' });
  expect(printed.trim()).toBe(
    '{"v":1,"items":[{"id":"i1","kind":"assistant","parts":[{"kind":"text","text":"bare"},' +
      '{"kind":"media","mimeType":"image/png","source":{"type":"bytes","bytes":"AQID"}}]}]} 7',
  );
});
