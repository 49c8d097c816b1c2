import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { temporalTest } from './testing/use-temporal.ts';

const flags = ['--conditions=@millrace/source', 'examples/14-temporal/main.ts'];

temporalTest('14-temporal streams the run of a workflow and keeps its history small', () => {
  const lines = execFileSync(process.execPath, flags, { encoding: 'utf8' }).trimEnd().split('\n');
  const [answer, counted] = lines.slice(-2);
  expect(answer).toBe(
    'Let me look at both. [looked] [looked] The weir has 212 cm and the race 87: open the gate by a hand.',
  );
  expect(counted).toMatch(/^The workflow ran \d+ activities and knows 4 items$/);
});

test('14-temporal prints a hint if there is no server', () => {
  const printed = execFileSync(process.execPath, [...flags, 'nowhere'], { encoding: 'utf8' });
  expect(printed).toContain('npm run test:setup');
});
