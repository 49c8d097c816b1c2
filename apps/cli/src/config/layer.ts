import type { ConfigFile } from './config-file.ts';
import type { JsonFile } from './read-json-file.ts';

/** One of the files that a configuration is made of. */
export interface Layer {
  readonly file: JsonFile;
  readonly settings: ConfigFile;
}
