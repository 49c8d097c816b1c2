import type { BuiltAgent } from '../../contract/agent.ts';
import { withoutStyles } from '../../text/cells/printable.ts';
import { type Block, note } from '../contract/block.ts';

interface UserCommandsOptions {
  readonly built: () => Pick<BuiltAgent, 'runUserCommand'>;
  readonly print: (...blocks: readonly Block[]) => void;
}

/** Maximum number of command outputs for the next message. The oldest outputs are dropped. */
const maxOutputs = 20;
const openTag = '<user_command>\n$ ';

/**
 * Returns the command in a text part that `UserCommands` created. Returns undefined for other
 * parts.
 */
export function commandOfPart(text: string): string | undefined {
  return text.startsWith(openTag) ? text.slice(openTag.length).split('\n', 1)[0] : undefined;
}

/**
 * The commands that the user runs with `!`. It shows their output and keeps it. The next message
 * sends the output to the model.
 */
export class UserCommands {
  readonly #options: UserCommandsOptions;
  readonly #running = new Set<AbortController>();
  #outputs: readonly string[] = [];

  constructor(options: UserCommandsOptions) {
    this.#options = options;
  }

  /** True while a command runs. */
  get isRunning(): boolean {
    return this.#running.size > 0;
  }

  /** Runs a command and prints its output. */
  async run(command: string): Promise<void> {
    const { built, print } = this.#options;
    const stop = new AbortController();
    this.#running.add(stop);
    print({ type: 'command', text: `!${command}` });
    try {
      const output = withoutStyles(await built().runUserCommand(command, stop.signal));
      print(note('plain', output));
      const text = `${openTag}${command}\n${output}\n</user_command>`;
      this.#outputs = [...this.#outputs, text].slice(-maxOutputs);
    } finally {
      this.#running.delete(stop);
    }
  }

  /** Stops all running commands. */
  stop(): void {
    for (const one of this.#running) one.abort();
  }

  /** Returns the command outputs for the next message, and removes them from this object. */
  takeOutputs(): readonly string[] {
    const outputs = this.#outputs;
    this.#outputs = [];
    return outputs;
  }
}
