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
  models: 'say where requests and keys are sent',
  mcpServers: 'start programs',
  store: 'say where sessions are kept',
  'permissions.allow': 'let tools run without asking',
  'permissions.mode': 'let tools do more than your own configuration does',
  limits: 'go beyond your own limits',
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
  return `${path} wants to:\n${wants}Anybody's project can have such a file. Take all of it?\nIt is asked again when that changes. [y/N] `;
}
