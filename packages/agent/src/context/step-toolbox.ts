import type { StepSource } from '../contract/run-context.ts';
import type { Settings } from '../contract/settings.ts';

/** The tools of an agent that come and go: those that its functions return for one turn. */
export class StepToolbox {
  #turn = 0;
  #agent: Settings | undefined;
  #settings: Settings | undefined;

  /** The settings with the tools of the current turn. */
  apply(active: Settings, turn: number | undefined): Settings {
    return this.#settings !== undefined && this.#agent === active && this.#turn === turn
      ? this.#settings
      : active;
  }

  /** Calls the functions of the agent, once for each turn. Throws what they throw. */
  async load(active: Settings, turn: number, source: StepSource): Promise<void> {
    if (active.stepTools.length === 0) return;
    if (this.#agent === active && this.#turn === turn) return;
    // Few agents have such functions, so the code loads on demand.
    const { resolveTools } = await import('./step-tools.ts');
    const tools = await resolveTools(active, turn, source);
    this.#settings = { ...active, tools };
    this.#agent = active;
    this.#turn = turn;
  }
}
