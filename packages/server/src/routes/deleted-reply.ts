import { z } from 'zod';

/** What is told of something that was deleted. */
export const deletedSchema = z.object({ id: z.string(), message: z.string() });
