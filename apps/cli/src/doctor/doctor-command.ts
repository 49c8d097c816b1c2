import process from 'node:process';
import { loadConfig } from '../config/load-config.ts';
import type { DoctorArgs } from '../contract/args.ts';
import { exitCodes } from '../exit-code.ts';
import type { LocalServerOptions } from '../models/local-servers.ts';
import { hasColor, Output, type OutputStream } from '../print/output.ts';
import type { InputStream } from '../print/piped-input.ts';
import { oneLine } from '../text/cells/printable.ts';
import { TerminalText } from '../text/terminal/terminal-gate.ts';
import type { Check, CheckContext, Finding } from './check.ts';
import { checkModel, configFindings, invalidConfigFinding } from './check-config.ts';
import { checkEndpoints } from './check-endpoints.ts';
import { checkKeys, checkNode, checkTerminal } from './check-machine.ts';
import { checkMcpServers } from './check-mcp.ts';
import { checkSandbox } from './check-sandbox.ts';
import { checkStore } from './check-store.ts';

export interface DoctorCommandOptions extends LocalServerOptions {
  readonly args: DoctorArgs;
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly cwd: string;
  readonly signal?: AbortSignal | undefined;
  readonly checks?: readonly Check[] | undefined;
  readonly nodeVersion?: string | undefined;
  readonly platform?: NodeJS.Platform | undefined;
}

const allChecks: readonly Check[] = [
  checkNode,
  checkModel,
  checkKeys,
  checkEndpoints,
  checkStore,
  checkSandbox,
  checkMcpServers,
  checkTerminal,
];

/**
 * Runs `millrace doctor`. It checks the requirements of a run and prints advice. Returns exit code
 * 1 if a check failed.
 */
export async function doctorCommand(options: DoctorCommandOptions): Promise<number> {
  const { args, stdout, env, cwd, checks = allChecks } = options;
  const { nodeVersion = process.versions.node, platform = process.platform } = options;
  const loaded = await loadConfig({ args, env, cwd }).catch((error: unknown) =>
    invalidConfigFinding(error),
  );
  const isLoaded = !('state' in loaded);
  const config = isLoaded ? loaded : undefined;
  const context: CheckContext = { ...options, config, nodeVersion, platform };
  const checkConfig = async () => (isLoaded ? configFindings(loaded) : [loaded]);
  const output = new Output(stdout);
  const found: Finding[] = [];
  // All checks run in parallel. Their results are printed in order.
  const running = [checkConfig, ...checks].map((check) => runCheck(check, context));
  for (const findings of running) {
    for (const finding of await findings) {
      found.push(finding);
      if (!args.json) await output.write(findingLines(finding, options));
    }
  }
  if (args.json) await output.writeData(`${JSON.stringify(found, undefined, 2)}\n`);
  if (output.failure?.code === 'cannot_write') throw output.failure;
  return found.some(({ state }) => state === 'fail') ? exitCodes.error : exitCodes.done;
}

/** Runs a check. If it throws, the error becomes a finding. */
async function runCheck(check: Check, context: CheckContext): Promise<readonly Finding[]> {
  try {
    return await check(context);
  } catch (error) {
    const name = error instanceof Error ? error.name : 'something';
    const text = `A check failed with ${name}`;
    return [{ about: 'doctor', state: 'fail', text, advice: 'Please report it' }];
  }
}

const colours = { ok: 'green', warn: 'yellow', fail: 'red' } as const;
const maxLineLength = 1000;

function findingLines(
  { state, text, advice }: Finding,
  options: DoctorCommandOptions,
): TerminalText {
  const { stdout, env, args } = options;
  const useColor = hasColor(stdout, { env, color: args.color });
  const mark = state.padEnd(4);
  const painted = TerminalText.styled(colours[state], mark, useColor);
  const next = advice === undefined ? '' : `      → ${oneLine(advice, maxLineLength)}\n`;
  return TerminalText.of(painted, `  ${oneLine(text, maxLineLength)}\n${next}`);
}
