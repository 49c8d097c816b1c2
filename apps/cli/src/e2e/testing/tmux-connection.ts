import { type ChildProcessWithoutNullStreams, type SpawnOptions, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

interface OpenCommand {
  readonly args: readonly string[];
  readonly reply: PromiseWithResolvers<string>;
}

/**
 * A client of a tmux server in control mode. It sends commands and receives their output as lines
 * of text. The client does not affect the size of the window.
 */
export class TmuxConnection {
  readonly #client: ChildProcessWithoutNullStreams;
  /** The commands that wait for a reply, oldest first. tmux replies in order. */
  readonly #open: OpenCommand[] = [];
  /** The number that tmux gave to the command whose reply is arriving now. */
  #number: string | undefined;
  #lines: string[] = [];
  #hasEnded = false;

  /**
   * Connects to the only session of a server. `server` contains the tmux flags that select the
   * server.
   */
  constructor(server: readonly string[], options: Pick<SpawnOptions, 'env' | 'cwd'>) {
    const attach = ['-C', 'attach-session', '-f', 'ignore-size,no-output'];
    this.#client = spawn('tmux', [...server, ...attach], { ...options, stdio: 'pipe' });
    createInterface({ input: this.#client.stdout, crlfDelay: 0 }).on('line', (line) =>
      this.#receive(line),
    );
    // When the server ends, the client ends too, and later writes fail.
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
      // tmux also replies to the command that attached this client. That reply is ignored.
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

/** Quotes a word for tmux. A command is one line, so control characters are escaped. */
function quote(word: string): string {
  const escaped = word
    .replaceAll(/["\\$]/g, (sign) => `\\${sign}`)
    .replaceAll(/\p{Cc}/gu, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `"${escaped}"`;
}
