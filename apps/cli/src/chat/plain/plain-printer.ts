import type { Block } from '../contract/block.ts';
import type { Look } from '../render/look.ts';
import { Printer } from '../render/printer.ts';

/** Maximum number of typed texts to remember. */
const maxTyped = 100;

/** A printer that omits the messages and commands that the user has just typed, because the line with them stays. */
export class PlainPrinter extends Printer {
  #typed: readonly string[] = [];

  /** Call it when the user sends a text that the terminal shows. */
  readonly expect = (text: string): void => {
    this.#typed = [...this.#typed, text.trim()].slice(-maxTyped);
  };

  override print(look: Look, blocks: readonly Block[]): readonly string[] {
    return super.print(
      look,
      blocks.filter((block) => !this.#isTyped(block)),
    );
  }

  #isTyped(block: Block): boolean {
    const isMine = block.type === 'command' || (block.type === 'message' && !block.author);
    if (!isMine) return false;
    const index = this.#typed.indexOf(block.text.trim());
    if (index === -1) return false;
    this.#typed = this.#typed.filter((_, at) => at !== index);
    return true;
  }
}
