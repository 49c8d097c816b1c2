export { type RunHooks, runHooks } from './hooks/run-hooks.ts';
export {
  MillraceModel,
  type MillraceModelOptions,
  type MillraceModelsOptions,
  millraceModels,
} from './model/millrace-model.ts';
export type { TurnStream } from './model/turn-stream.ts';
export { type ConvertedInput, toInputItems, toItems } from './request/convert-items.ts';
export { toModelRequest } from './request/to-model-request.ts';
export {
  type IdentifiedPart,
  type SdkResponse,
  toOutputItems,
  toResponse,
} from './response/to-response.ts';
export { convertRunEvents, type RunEvents } from './updates/convert-run-events.ts';
