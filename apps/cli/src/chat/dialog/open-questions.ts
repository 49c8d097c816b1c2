import type { UserAnswer, UserQuestion } from '@millrace/tools';
import type { OpenQuestion } from '../contract/dialog.ts';

/** The model's questions that wait for an answer, in order. */
export class OpenQuestions {
  readonly #onChange: () => void;
  #open: readonly OpenQuestion[] = [];

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get first(): OpenQuestion | undefined {
    return this.#open[0];
  }

  /**
   * Asks the user. Resolves with the answer, or with undefined if the question was dismissed or
   * aborted.
   */
  readonly ask = (question: UserQuestion, signal: AbortSignal): Promise<UserAnswer> =>
    new Promise((resolve) => {
      const answer = (given: UserAnswer) => {
        signal.removeEventListener('abort', dismiss);
        this.#open = this.#open.filter((one) => one !== open);
        resolve(given);
        this.#onChange();
      };
      const dismiss = () => answer(undefined);
      const open = { ...question, answer };
      if (signal.aborted) return resolve(undefined);
      signal.addEventListener('abort', dismiss);
      this.#open = [...this.#open, open];
      this.#onChange();
    });

  /** Closes all questions without an answer. */
  dismissAll(): void {
    for (const { answer } of this.#open) answer(undefined);
  }
}
