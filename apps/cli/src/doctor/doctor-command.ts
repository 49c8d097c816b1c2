import process from 'node:process';
import { styleText } from 'node:util';
import { loadConfig } from '../config/load-config.ts';
import type { DoctorArgs } from '../contract/args.ts';
import { exitCodes } from '../exit-code.ts';
import type { LookOptions } from '../models/local-servers.ts';
import { hasColor, Output, type OutputStream } from '../print/output.ts';
import type { InputStream } from '../print/piped-input.ts';
import { oneLine } from '../print/printable.ts';
import type { Check, Finding, Patient } from './check.ts';
import { badConfig, checkModel, configFindings } from './check-config.ts';
import { checkEndpoints } from './check-endpoints.ts';
import { checkKeys, checkNode, checkTerminal } from './check-machine.ts';
import { checkStore } from './check-store.ts';

export interface DoctorCommandOptions extends LookOptions {
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
  checkTerminal,
];

/** `millrace doctor`: looks at what a run needs and says what to do. Something that fails is exit code 1. */
export async function doctorCommand(options: DoctorCommandOptions): Promise<number> {
  const { args, stdout, env, cwd, checks = allChecks } = options;
  const { nodeVersion = process.versions.node, platform = process.platform } = options;
  const loaded = await loadConfig({ args, env, cwd }).catch((error: unknown) => badConfig(error));
  const isLoaded = !('state' in loaded);
  const config = isLoaded ? loaded : undefined;
  const patient: Patient = { ...options, config, nodeVersion, platform };
  const ofConfig = async () => (isLoaded ? configFindings(loaded) : [loaded]);
  const output = new Output(stdout);
  const found: Finding[] = [];
  // All begin at once, and are told in their order.
  const running = [ofConfig, ...checks].map((check) => settled(check, patient));
  for (const findings of running) {
    for (const finding of await findings) {
      found.push(finding);
      if (!args.json) await output.write(linesOf(finding, options));
    }
  }
  if (args.json) await output.write(`${JSON.stringify(found, undefined, 2)}\n`);
  if (output.failure?.code === 'cannot_write') throw output.failure;
  return found.some(({ state }) => state === 'fail') ? exitCodes.error : exitCodes.done;
}

/** A check that fails itself is something that was found. */
async function settled(check: Check, patient: Patient): Promise<readonly Finding[]> {
  try {
    return await check(patient);
  } catch (error) {
    const name = error instanceof Error ? error.name : 'something';
    const text = `A check could not be made: it threw ${name}`;
    return [{ about: 'doctor', state: 'fail', text, advice: 'Please report it' }];
  }
}

const colours = { ok: 'green', warn: 'yellow', fail: 'red' } as const;
const longest = 1000;

function linesOf({ state, text, advice }: Finding, options: DoctorCommandOptions): string {
  const { stdout, env, args } = options;
  const isPainted = hasColor(stdout, { env, color: args.color });
  const mark = state.padEnd(4);
  const painted = isPainted ? styleText(colours[state], mark, { validateStream: false }) : mark;
  const next = advice === undefined ? '' : `      → ${oneLine(advice, longest)}\n`;
  return `${painted}  ${oneLine(text, longest)}\n${next}`;
}
