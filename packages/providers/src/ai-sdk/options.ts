import type { ModelInfoOptions } from '../models/model-info.ts';
import type { TransportOptions } from '../transport/transport-options.ts';
import type { HeaderOptions } from '../wire/api-options.ts';
import type { ProviderTool } from './model.ts';

/** Options of `fromAiSdk`. The provider package sends the HTTP requests itself, with its own `fetch`. */
export interface AiSdkOptions
  extends CallExtras,
    ModelInfoOptions,
    Pick<TransportOptions, 'clock' | 'timeouts' | 'maxConcurrentRequests' | 'limits'> {
  /**
   * Texts to remove from errors. Pass the API key of the package here, because `fromAiSdk` cannot read it.
   * Without this option, only keys in a known format are removed. Default: none.
   */
  readonly secrets?: readonly (string | undefined)[] | undefined;
}

/** Settings that are added to every call. */
export interface CallExtras {
  /** Headers that are added to every request. Default: none. */
  readonly headers?: HeaderOptions | undefined;
  /** Tools that the provider runs itself. Default: none. */
  readonly providerTools?: readonly ProviderTool[] | undefined;
}
