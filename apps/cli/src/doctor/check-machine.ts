import type { ModelConfig } from '../contract/config.ts';
import type { Env } from '../contract/host.ts';
import { localServers } from '../models/local-servers.ts';
import { vendors } from '../models/vendors.ts';
import { hasColor } from '../print/output.ts';
import type { Check, CheckContext, Finding } from './check.ts';

/** The minimum version of Node. Keep it equal to the version in package.json. */
const minNodeVersion = [22, 18] as const;

export const checkNode: Check = async ({ nodeVersion }) => {
  const about = 'node';
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  const isNewEnough =
    major > minNodeVersion[0] || (major === minNodeVersion[0] && minor >= minNodeVersion[1]);
  if (isNewEnough) return [{ about, state: 'ok', text: `Node ${nodeVersion}` }];
  const text = `Node ${nodeVersion} is too old`;
  return [
    { about, state: 'fail', text, advice: `Install Node ${minNodeVersion.join('.')} or later` },
  ];
};

const keysTopic = 'keys';

/** Reports which keys are set, and whether their format is plausible. It never prints a key. */
export const checkKeys: Check = async ({ env, config }) => {
  const names = [
    ...vendors.flatMap(({ keyVariables }) => keyVariables),
    ...localServers.flatMap(({ keyVariable }) => keyVariable ?? []),
  ];
  const found = [
    ...names.flatMap((name) => keyFinding(name, env) ?? []),
    ...Object.entries(config?.models ?? {}).flatMap(configuredKey),
  ];
  if (found.length > 0) return found;
  const text = 'No provider key is set';
  const keyless = Object.entries(config?.models ?? {}).find(([, { provider }]) =>
    vendors.every(({ name }) => name !== provider),
  );
  if (keyless !== undefined) {
    const reason = `The model ${keyless[0]} is used without a key`;
    return [{ about: keysTopic, state: 'ok', text: `${text}. ${reason}` }];
  }
  const variables = vendors.map(({ keyVariables }) => keyVariables[0]).join(', ');
  const advice = `Log in with millrace login openrouter, or set one of ${variables}`;
  return [{ about: keysTopic, state: 'warn', text, advice }];
};

function configuredKey([name, { apiKey }]: readonly [string, ModelConfig]): readonly Finding[] {
  if (apiKey === undefined) return [];
  const problem = keyProblem(apiKey);
  if (problem === undefined)
    return [{ about: keysTopic, state: 'ok', text: `The model ${name} has a key` }];
  const advice = `Correct models.${name}.apiKey in your configuration`;
  return [
    { about: keysTopic, state: 'warn', text: `The key of the model ${name} ${problem}`, advice },
  ];
}

function keyFinding(name: string, env: Env): Finding | undefined {
  const value = env[name];
  if (value === undefined) return undefined;
  const problem = keyProblem(value);
  if (problem === undefined && name === 'AWS_BEARER_TOKEN_BEDROCK' && !hasRegion(env)) {
    const advice = 'Set AWS_REGION, for example to us-east-1';
    return { about: keysTopic, state: 'warn', text: `${name} is set, but no region`, advice };
  }
  if (problem === undefined) return { about: keysTopic, state: 'ok', text: `${name} is set` };
  const advice = 'Set it again, with nothing but the key';
  return { about: keysTopic, state: 'warn', text: `${name} ${problem}`, advice };
}

function hasRegion(env: Env): boolean {
  return Boolean(env['AWS_REGION']?.trim() || env['AWS_DEFAULT_REGION']?.trim());
}

function keyProblem(value: string): string | undefined {
  if (value.trim() === '') return 'is set, but empty';
  if (value !== value.trim()) return 'has spaces or a line break around it';
  if (/^(["']).*\1$/s.test(value)) return 'has quotes around it';
  if (/[^\u0021-\u007e]/.test(value)) return 'contains characters that no key has';
  return undefined;
}

const terminalTopic = 'terminal';
/** The minimum size of a terminal. In smaller terminals the chat works, but it is hard to use. */
const minTerminalSize = { columns: 60, rows: 15 };

/** Reports whether the chat can run in this terminal. */
export const checkTerminal: Check = async (context) => {
  const { stdin, stdout } = context;
  if (!stdin.isTTY || !stdout.isTTY) {
    const text = 'No terminal: only millrace -p works here, not the chat';
    return [{ about: terminalTopic, state: 'warn', text, advice: 'Start the chat in a terminal' }];
  }
  return [sizeFinding(context), ...localeFindings(context)];
};

function sizeFinding({ stdout, env }: CheckContext): Finding {
  const { columns = 0, rows = 0 } = stdout;
  const colours = hasColor(stdout, { env }) ? 'with colours' : 'without colours';
  const text = `${env['TERM'] ?? 'A terminal'}, ${columns} × ${rows}, ${colours}`;
  const isSmall = columns < minTerminalSize.columns || rows < minTerminalSize.rows;
  if (!isSmall) return { about: terminalTopic, state: 'ok', text };
  const advice = `Make it larger, if you can: ${minTerminalSize.columns} × ${minTerminalSize.rows} or more`;
  return { about: terminalTopic, state: 'warn', text, advice };
}

function localeFindings({ env, platform }: CheckContext): readonly Finding[] {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  // Only Linux uses these variables.
  if (platform !== 'linux' || /utf-?8/i.test(locale)) return [];
  const text = `The locale (${locale || 'none'}) is not UTF-8: some characters may not be shown`;
  return [{ about: terminalTopic, state: 'warn', text, advice: 'Set LANG=C.UTF-8' }];
}
