import { type ModelEffort, type ModelInfo, modelEfforts } from '../contract/model-info.ts';
import type { ModelRequest, ReasoningEffort } from '../contract/model-request.ts';

/**
 * Returns the effort to send for a requested effort. For `max`, it is the model's highest effort. Otherwise
 * it is the first of these efforts that the model has: the requested effort, the next higher effort, the
 * highest effort. Returns undefined if the list of efforts is empty.
 */
export function effortFor(
  requested: ReasoningEffort,
  efforts: readonly ModelEffort[],
): ModelEffort | undefined {
  const ordered = modelEfforts.filter((effort) => efforts.includes(effort));
  const highest = ordered.at(-1);
  if (requested === 'max') return highest;
  const least = modelEfforts.indexOf(requested);
  return ordered.find((effort) => modelEfforts.indexOf(effort) >= least) ?? highest;
}

/** The efforts for a model that is not in the table. Most servers accept them. */
export const commonEfforts: readonly ModelEffort[] = ['none', 'low', 'medium', 'high'];

type Sampling = Pick<ModelRequest, 'temperature' | 'topP'>;

interface SamplingModel {
  readonly model: string;
  readonly info: ModelInfo;
  /** A list to which a message is added if a value is omitted. */
  readonly warnings: string[];
}

/**
 * Returns the temperature and the nucleus probability of a request, or an empty object if the model rejects
 * them. If a model is not in the table, they are returned, because most models accept them.
 */
export function sentSampling(
  { temperature, topP, reasoning }: ModelRequest,
  { model, info, warnings }: SamplingModel,
): Sampling {
  const isEmpty = temperature === undefined && topP === undefined;
  if (isEmpty || takesSampling(reasoning, info)) return { temperature, topP };
  warnings.push(`${model} rejects a temperature and topP with this effort; they were left out`);
  return {};
}

function takesSampling(requested: ReasoningEffort | undefined, info: ModelInfo): boolean {
  switch (info.sampling) {
    case undefined:
    case 'always':
      return true;
    case 'never':
      return false;
    case 'without_reasoning':
      return effortOf(requested, info) === 'none';
  }
}

/** Returns the effort that the model will use for an answer, or undefined if it is unknown. */
function effortOf(
  requested: ReasoningEffort | undefined,
  { efforts = commonEfforts, defaultEffort }: ModelInfo,
): ModelEffort | undefined {
  return requested === undefined ? defaultEffort : effortFor(requested, efforts);
}
