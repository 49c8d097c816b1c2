import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { childEnv } from '../../../core/src/testing/runs.ts';
import { isRequirementMissing } from '../../../log/src/testing/external-programs.ts';

// The suite is not a dependency of this package, see scripts/test-setup.ts.
const suiteName = ['@modelcontextprotocol', 'conformance'].join('/');
const suite = fileURLToPath(
  new URL(`../../../../scripts/mcp-suite/node_modules/${suiteName}/dist/index.js`, import.meta.url),
);
const client = fileURLToPath(new URL('../testing/mcp/conformance-client.ts', import.meta.url));
const isMissing = isRequirementMissing(
  existsSync(suite),
  'The conformance suite of MCP is not installed. Run npm run test:setup',
);

/** Runs the official conformance suite. Returns the scenarios that fail, and the number of passed checks. */
async function runSuite(revision: string) {
  const command = `${process.execPath} --conditions=@millrace/source ${client}`;
  const args = [suite, 'client', '--command', command, '--requirements', revision];
  // The suite exits with an error if a scenario fails. Its limit protects only against hangs.
  const { stdout } = await promisify(execFile)(process.execPath, [...args, '--timeout', '600000'], {
    maxBuffer: 2 ** 26,
    env: { ...process.env, ...childEnv() },
  }).catch((error: { readonly stdout: string }) => error);
  const [, summary = ''] = stdout.split('=== SUITE SUMMARY ===');
  const failed = [...summary.matchAll(/^✗ (\S+):/gm)].map(([, name]) => name);
  const [, passed, wrong] = /Total: (\d+) passed, (\d+) failed/.exec(summary) ?? [];
  return { failed, passed: Number(passed), wrong: Number(wrong) };
}

/** Extensions of MCP that no revision requires, and that this client does not have. */
const extensions = [
  // Logins through the identity provider of a company.
  'auth/enterprise-managed-authorization',
  // Tokens that are bound to a key of the client.
  ...['auth/dpop', 'auth/dpop-nonce'],
  // Logins of workloads with a token of their platform.
  'auth/wif-jwt-bearer',
];

test.skipIf(isMissing)(
  '24.4: the client passes everything that the official suite requires for 2025-11-25',
  async () => {
    const { failed, ...counts } = await runSuite('2025-11-25');
    expect(failed).toEqual(extensions);
    expect(counts).toEqual({ passed: 337, wrong: 11 });
  },
);

test.skipIf(isMissing)(
  '24.4: the client passes everything that the official suite requires for 2026-07-28',
  async () => {
    const { failed, ...counts } = await runSuite('2026-07-28');
    expect(failed).toEqual(extensions);
    expect(counts).toEqual({ passed: 488, wrong: 11 });
  },
);
