import type { StepSource } from '../contract/run-context.ts';
import type { Settings } from '../contract/settings.ts';

/**
 * Holds the tools that the agent's functions return for one turn. These functions may return different tools
 * in each turn.
 */
export class StepToolbox {
  #turn = 0;
  #agent: Settings | undefined;
  #settings: Settings | undefined;

  /**
   * Returns the settings with the tools of the turn. Returns `active` unchanged if no tools were loaded for
   * that turn.
   */
  apply(active: Settings, turn: number | undefined): Settings {
    return this.#settings !== undefined && this.#agent === active && this.#turn === turn
      ? this.#settings
      : active;
  }

  /**
   * Calls the agent's functions that return tools, once per turn. Rejects with the error that such a function
   * throws.
   */
  async load(active: Settings, turn: number, source: StepSource): Promise<void> {
    if (active.stepTools.length === 0) return;
    if (this.#agent === active && this.#turn === turn) return;
    // The code loads on demand, because few agents have functions that return tools.
    const { resolveTools } = await import('./step-tools.ts');
    const tools = await resolveTools(active, turn, source);
    this.#settings = { ...active, tools };
    this.#agent = active;
    this.#turn = turn;
  }
}
