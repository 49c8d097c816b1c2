import type { TaskHandle } from './task/task-handle.ts';

/** One handle a task, as long as somebody holds it: what nobody holds takes no memory. */
export class TaskHandles {
  readonly #make: (id: string, onClose: () => void) => TaskHandle;
  readonly #known = new Map<string, WeakRef<TaskHandle>>();
  readonly #lost = new FinalizationRegistry<string>((id) => {
    // Another may have taken its place.
    if (this.#known.get(id)?.deref() === undefined) this.#known.delete(id);
  });

  constructor(make: (id: string, onClose: () => void) => TaskHandle) {
    this.#make = make;
  }

  get(id: string): TaskHandle {
    const known = this.#known.get(id)?.deref();
    if (known !== undefined) return known;
    const handle = this.#make(id, () => this.#known.delete(id));
    this.#known.set(id, new WeakRef(handle));
    this.#lost.register(handle, id);
    return handle;
  }

  close(): void {
    for (const known of [...this.#known.values()]) known.deref()?.close();
  }
}
