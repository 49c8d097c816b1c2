import { isMillraceError } from '@millrace/core';
import { chooseModel } from '../models/choose-model.ts';
import type { Check } from './finding.ts';

const about = 'model';

/** Which model a run would use now, and why. */
export const checkModel: Check = async ({ config, ...rest }) => {
  try {
    const { why, isDemo } = await chooseModel({ ...rest, config: config ?? { models: {} } });
    if (!isDemo) return [{ about, state: 'ok', text: why }];
    const advice =
      'Set a key, ANTHROPIC_API_KEY for instance, or start a local server such as Ollama';
    return [{ about, state: 'warn', text: why, advice }];
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return [{ about, state: 'fail', text: error.message }];
  }
};
