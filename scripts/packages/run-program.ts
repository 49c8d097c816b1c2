import { spawn } from 'node:child_process';

/** Options for running a program. */
export interface ProgramOptions {
  readonly cwd: string;
  /** Environment variables that are added to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** The standard input. Default: empty. */
  readonly input?: string;
  /** The maximum duration. Default: 10 minutes. */
  readonly timeoutMs?: number;
}

/** The output of a program that ended with code 0. */
export interface ProgramOutput {
  readonly stdout: string;
  readonly stderr: string;
}

/** Maximum number of characters that are kept from one output stream. */
const maxOutputLength = 16 * 2 ** 20;

/** Runs a program. If it does not end with code 0, throws an error with its output. */
export function runProgram(
  program: string,
  args: readonly string[],
  { cwd, env = {}, input = '', timeoutMs = 600_000 }: ProgramOptions,
): Promise<ProgramOutput> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      timeout: timeoutMs,
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        output[name] += text;
        if (output[name].length > maxOutputLength) child.kill();
      });
    }
    child.stdin.on('error', () => {}).end(input);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(output);
      const command = [program, ...args].join(' ').slice(0, 500);
      const printed = `${output.stdout}\n${output.stderr}`.trim().slice(-6_000);
      reject(new Error(`${command}\nended with ${signal ?? code}:\n${printed}`));
    });
  });
}
