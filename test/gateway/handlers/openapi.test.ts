// tier: integration
import { INFERENCE_ROUTES } from '../../../gateway/handlers/inference';
import { LOCAL_ROUTES } from '../../../gateway/handlers/local-routes';
import { openApi } from '../../../gateway/handlers/openapi';

test('the OpenAPI document has every route, and no other', () => {
  expect(Object.keys(openApi(['desk']).paths).sort()).toEqual(
    [...Object.keys(INFERENCE_ROUTES), ...Object.keys(LOCAL_ROUTES)].sort(),
  );
});
