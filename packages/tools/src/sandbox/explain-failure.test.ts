import { expect, test } from 'vitest';
import { explainFailure } from './explain-failure.ts';

const failed = { output: '', view: 'workspace', network: false, changesGit: false } as const;

test.for([
  ['curl -s https://example.com', 7],
  ['cd docs && /usr/bin/curl -s https://example.com', 6],
  ['(curl -sf https://example.com)', 28],
  ['wget -q https://example.com', 4],
] as const)('%s that exits with %i and prints nothing may need network', ([command, exitCode]) => {
  expect(explainFailure({ ...failed, command, exitCode })).toContain('it has no network');
  expect(explainFailure({ ...failed, command, exitCode, network: true })).toBeUndefined();
});

test.for([
  ['curl -sf https://example.com', 22],
  ['./my-curl 7', 7],
  ['test -f curl', 1],
  ['curl -s https://example.com', 0],
] as const)('%s that exits with %i is not explained', ([command, exitCode]) => {
  expect(explainFailure({ ...failed, command, exitCode })).toBeUndefined();
});
