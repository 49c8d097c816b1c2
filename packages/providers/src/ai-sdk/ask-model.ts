import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { fault } from '../errors/wire-fault.ts';
import { toV2, toV3 } from './earlier-versions.ts';
import type { AiSdkModel, StreamResult } from './model.ts';

/** Asks a model of any version for a stream. */
export async function askModel(
  model: AiSdkModel,
  options: LanguageModelV4CallOptions,
): Promise<StreamResult> {
  switch (model.specificationVersion) {
    case 'v4':
      return model.doStream(options);
    case 'v3':
      return model.doStream(toV3(options));
    case 'v2':
      return model.doStream(toV2(options));
    default: {
      const { specificationVersion } = model as { readonly specificationVersion: unknown };
      const found = `the model implements version ${String(specificationVersion)} of the interface`;
      throw fault('invalid_request', `${found}; use a package that implements v2, v3 or v4`);
    }
  }
}
