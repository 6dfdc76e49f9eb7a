/** Ranges of numbers that several settings have. */
import { z } from 'zod';

/** A number of things, at least one. */
export const count = z.int().positive();
/** A number of things, or none. */
export const countOrNone = z.int().nonnegative();
/** A whole number from `least` to `most`. */
export const whole = (least: number, most: number) => z.int().min(least).max(most);
/** A share of something. */
export const fraction = z.number().min(0).max(1);
/** A number above zero. */
export const positive = z.number().positive();
