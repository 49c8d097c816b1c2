import { type ChildProcessWithoutNullStreams, type SpawnOptions, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

interface OpenCommand {
  readonly args: readonly string[];
  readonly reply: PromiseWithResolvers<string>;
}

/**
 * A client of a tmux server in control mode: it sends commands and receives their output as lines of
 * text. The client does not influence the size of the window.
 */
export class TmuxConnection {
  readonly #client: ChildProcessWithoutNullStreams;
  /** The commands without a reply, the oldest first. tmux replies in order. */
  readonly #open: OpenCommand[] = [];
  /** The number that tmux gave the command whose reply is being received. */
  #number: string | undefined;
  #lines: string[] = [];
  #hasEnded = false;

  /** Connects to the only session of a server. `server` has the flags of tmux that name the server. */
  constructor(server: readonly string[], options: Pick<SpawnOptions, 'env' | 'cwd'>) {
    const attach = ['-C', 'attach-session', '-f', 'ignore-size,no-output'];
    this.#client = spawn('tmux', [...server, ...attach], { ...options, stdio: 'pipe' });
    createInterface({ input: this.#client.stdout, crlfDelay: 0 }).on('line', (line) =>
      this.#receive(line),
    );
    // The client ends with its server, and writes fail from then on.
    this.#client.stdin.on('error', () => {});
    this.#client.on('error', () => this.#end());
    this.#client.on('close', () => this.#end());
  }

  /** Runs a command and returns its output. */
  run(args: readonly string[]): Promise<string> {
    if (this.#hasEnded) return Promise.reject(new Error(`tmux has ended: ${args.join(' ')}`));
    const reply = Promise.withResolvers<string>();
    this.#open.push({ args, reply });
    this.#client.stdin.write(`${args.map(quote).join(' ')}\n`);
    return reply.promise;
  }

  #receive(line: string): void {
    const [, kind, number, isOwn] = /^%(begin|end|error) \d+ (\d+) (\d)$/.exec(line) ?? [];
    if (this.#number === undefined) {
      // tmux also replies to the command that attached this client.
      if (kind === 'begin' && isOwn === '1') this.#number = number;
      this.#lines = [];
      return;
    }
    if (kind === undefined || kind === 'begin' || number !== this.#number) {
      this.#lines.push(line);
      return;
    }
    this.#number = undefined;
    const { args, reply } = this.#open.shift() ?? {};
    const output = this.#lines.map((one) => `${one}\n`).join('');
    if (kind === 'end') reply?.resolve(output);
    else reply?.reject(new Error(`tmux ${args?.join(' ')}: ${output}`));
  }

  #end(): void {
    this.#hasEnded = true;
    for (const { args, reply } of this.#open.splice(0))
      reply.reject(new Error(`tmux has ended: ${args.join(' ')}`));
  }
}

/** Quotes a word for the parser of tmux. A command is one line, so control characters are escaped. */
function quote(word: string): string {
  const escaped = word
    .replaceAll(/["\\$]/g, (sign) => `\\${sign}`)
    .replaceAll(/\p{Cc}/gu, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `"${escaped}"`;
}
