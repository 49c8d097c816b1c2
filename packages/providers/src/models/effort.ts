import { type ModelEffort, type ModelInfo, modelEfforts } from '../contract/model-info.ts';
import type { ModelRequest, ReasoningEffort } from '../contract/model-request.ts';

/**
 * Returns the effort to send for a requested one. `max` is the highest that the model has. For the
 * others it is the requested effort, otherwise the next higher one, otherwise the highest. Undefined
 * if the model does not reason.
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

/** The efforts of a model about which nothing is known. Most servers accept them. */
export const commonEfforts: readonly ModelEffort[] = ['none', 'low', 'medium', 'high'];

type Sampling = Pick<ModelRequest, 'temperature' | 'topP'>;

interface SamplingModel {
  readonly model: string;
  readonly info: ModelInfo;
  /** Gets a line if something is left out. */
  readonly warnings: string[];
}

/**
 * Returns the temperature and the nucleus probability of a request, or nothing if the model rejects
 * them. They are sent if nothing is known, because most models accept them.
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

/** The effort of an answer. Undefined if it is unknown. */
function effortOf(
  requested: ReasoningEffort | undefined,
  { efforts = commonEfforts, defaultEffort }: ModelInfo,
): ModelEffort | undefined {
  return requested === undefined ? defaultEffort : effortFor(requested, efforts);
}
