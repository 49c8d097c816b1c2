import type { JsonValue } from '../json/json-value.ts';
import { AnyPartWriter } from './any-part-writer.ts';
import type { ValueWriter } from './part-writer.ts';

export class ValuePartWriter<Kind extends ValueWriter['kind']>
  extends AnyPartWriter<Kind>
  implements ValueWriter
{
  #hasValue = false;

  set(value: JsonValue): void {
    this.assertOpen('set the value of a part');
    this.checkAndEmit({ type: 'replace_structured', partId: this.partId, value });
    this.#hasValue = true;
  }

  protected override finish(): number {
    this.assert(this.#hasValue ? undefined : 'no_value', 'commit a part');
    return 0;
  }
}
