import { createInterface } from 'node:readline/promises';
import type { Config, UntrustedFile } from '../contract/config.ts';
import type { Host } from '../contract/host.ts';

/**
 * Asks the user a question at the terminal before the chat starts. Undefined if the user cancels.
 */
export async function askUser(
  { stdin, stdout, signal }: Pick<Host, 'stdin' | 'stdout' | 'signal'>,
  question: string,
): Promise<string | undefined> {
  const lines = createInterface({ input: stdin, output: stdout });
  const cancelled = new Promise<undefined>((resolve) => {
    lines.once('close', () => resolve(undefined));
    lines.once('SIGINT', () => resolve(undefined));
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  try {
    // `question` never settles when the input ends, so `cancelled` is raced with it.
    return await Promise.race([lines.question(question), cancelled]);
  } finally {
    lines.close();
  }
}

const riskDescriptions: Readonly<Record<string, string>> = {
  models: 'set where requests and keys are sent',
  mcpServers: 'start programs',
  store: 'set where sessions are stored',
  'permissions.allow': 'let tools run without approval',
  'permissions.mode': 'let tools do more than your own configuration allows',
  limits: 'exceed your own limits',
};

/** Asks the user whether to use all settings of a project's file. Undefined if the user cancels. */
export async function askForTrust(
  { untrusted }: Pick<Config, 'untrusted'>,
  host: Pick<Host, 'stdin' | 'stdout' | 'signal'>,
): Promise<boolean | undefined> {
  if (untrusted === undefined) return false;
  const answer = await askUser(host, trustQuestion(untrusted));
  return answer === undefined ? undefined : /^y(es)?$/i.test(answer.trim());
}

function trustQuestion({ path, parts }: UntrustedFile): string {
  const wants = parts.map((part) => `  - ${riskDescriptions[part] ?? part} (${part})\n`).join('');
  return `${path} wants to:\n${wants}Any project can contain such a file. Trust all of it?\nYou are asked again when it changes. [y/N] `;
}
